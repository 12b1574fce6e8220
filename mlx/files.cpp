// npy and GGUF files. Go checks the files first and writes to a temporary name; here
// they are only handed to MLX. Loading runs on the CPU stream: the GPU has no load operation.
#include "shim.hpp"

namespace {

template <typename Map>
void put_names(const Map& arrays, mlxg_loaded& r) {
  std::string names;
  r.arrays = new mlxg_vec;
  for (auto& [name, a] : arrays) {
    names += name;
    names.push_back('\0');
    r.arrays->handles.push_back(shim::wrap(a));
  }
  r.n = static_cast<int>(arrays.size());
  r.names = shim::copy_string(names);
}

std::unordered_map<std::string, mx::array> named(const mlxg_string* names, mlxg_arrays arrays) {
  auto values = shim::list(arrays);
  std::unordered_map<std::string, mx::array> out;
  for (int i = 0; i < arrays.len; i++) {
    out.insert({shim::text(names[i]), values[i]});
  }
  return out;
}

} // namespace

mlxg_error mlxg_save_npy(mlxg_string path, mlxg_array* a) {
  return shim::guard([&] { mx::save(shim::text(path), shim::get(a)); });
}

mlxg_result mlxg_load_npy(mlxg_string path) {
  return shim::one([&] { return mx::load(shim::text(path), shim::stream(0)); });
}

mlxg_error mlxg_save_gguf(
    mlxg_string path, const mlxg_string* names, mlxg_arrays arrays, const mlxg_string* meta, int n_meta) {
  return shim::guard([&] {
    std::unordered_map<std::string, mx::GGUFMetaData> metadata;
    for (int i = 0; i < n_meta; i++) {
      metadata[shim::text(meta[2 * i])] = shim::text(meta[2 * i + 1]);
    }
    mx::save_gguf(shim::text(path), named(names, arrays), metadata);
  });
}

mlxg_loaded mlxg_load_gguf(mlxg_string path) {
  mlxg_loaded r{};
  r.err = shim::guard([&] {
    auto [arrays, metadata] = mx::load_gguf(shim::text(path), shim::stream(0));
    put_names(arrays, r);
    std::string meta;
    for (auto& [key, value] : metadata) {
      std::string as_text;
      if (std::holds_alternative<std::string>(value)) {
        as_text = std::get<std::string>(value);
      } else if (std::holds_alternative<std::vector<std::string>>(value)) {
        for (auto& line : std::get<std::vector<std::string>>(value)) {
          as_text += line + "\n";
        }
      } else {
        continue;
      }
      meta += key;
      meta.push_back('\0');
      meta += as_text;
      meta.push_back('\0');
      r.n_meta++;
    }
    r.meta = shim::copy_string(meta);
  });
  return r;
}
