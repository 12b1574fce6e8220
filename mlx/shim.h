// The C face of libmlx for package mlx. Every function may be called from any thread, but only
// while the package's lock is held, unless its comment says otherwise. No C++ exception leaves a
// function: a fault comes back as an mlxg_error that the caller frees with mlxg_error_free.
#pragma once

#if !__has_include(<mlx/version.h>)
#error "libmlx is not set up: run  eval \"$(go run github.com/mpsrnn/mpsrnn/cmd/mlxsetup)\"  and build again"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlxg_array mlxg_array;
typedef struct mlxg_ticket mlxg_ticket;
typedef struct mlxg_vec mlxg_vec;
typedef struct mlxg_group mlxg_group;

// carried is set when the fault belongs to an array made earlier, not to this call; when that array's
// computation failed, failure is the number of the failed computation.
typedef struct {
  char* message;
  bool carried;
  uint64_t failure;
} mlxg_error;

typedef struct {
  mlxg_array* out;
  mlxg_error err;
} mlxg_result;

// A list of arrays, owned by the receiver: read it with mlxg_vec_take, which frees it.
typedef struct {
  mlxg_vec* out;
  int n;
  mlxg_error err;
} mlxg_results;

// An argument that is an array or a Go scalar.
enum { MLXG_ARRAY, MLXG_BOOL, MLXG_INT, MLXG_FLOAT, MLXG_COMPLEX, MLXG_NONE };
typedef struct {
  mlxg_array* array;
  int64_t i;
  double re, im;
  int kind;
} mlxg_operand;

typedef struct {
  const char* data;
  size_t len;
} mlxg_string;

typedef struct {
  mlxg_array* const* data;
  int len;
} mlxg_arrays;

typedef struct {
  const int32_t* data;
  int len;
} mlxg_ints;

// runtime.cpp: start and stop, streams, devices.
typedef struct {
  mlxg_error err;
  bool gpu;
} mlxg_started;
mlxg_started mlxg_start(void);
const char* mlxg_headers_version(void);
const char* mlxg_library_version(void);
// What is wrong with running headers of one version with a library of another, NULL when nothing is; freed by the caller.
char* mlxg_version_fault(const char* headers, const char* library);
mlxg_error mlxg_stop(void);
void mlxg_error_free(mlxg_error err);
typedef struct {
  int stream;
  mlxg_error err;
} mlxg_new_stream_result;
mlxg_new_stream_result mlxg_new_stream(bool gpu);
void mlxg_set_default_device(bool gpu);
char* mlxg_device_info(bool gpu);
// The file of the library that gives cblas_sgemm to this process, "" when it cannot be told.
char* mlxg_blas_file(void);
// False when the BLAS in use is not OpenBLAS.
bool mlxg_set_blas_threads(int n);
int mlxg_stream_count(void);

// handles.cpp: arrays and their descriptions.
mlxg_result mlxg_from_data(const void* data, mlxg_ints shape, int dtype);
// An array whose elements the caller writes to *data before anybody else has the handle. Writing needs no lock.
mlxg_result mlxg_allocate(mlxg_ints shape, int dtype, void** data);
mlxg_result mlxg_retain(mlxg_array* a);
void mlxg_free_many(mlxg_array* const* handles, int n);
int mlxg_live_handles(void);
typedef struct {
  int ndim, dtype;
  int64_t size;
  int32_t shape[16];
} mlxg_description;
mlxg_description mlxg_describe(mlxg_array* a);
void mlxg_shape(mlxg_array* a, int32_t* shape);
// The error of the failed computation that spoiled the array, if one did.
mlxg_error mlxg_failure(mlxg_array* a);
bool mlxg_is_tracer(mlxg_array* a);
// Copies the elements in row-major order whatever the strides are. The array must be available.
// Needs no lock when the caller holds a handle of its own.
mlxg_error mlxg_read(mlxg_array* a, void* dst, size_t bytes);
int mlxg_vec_take(mlxg_vec* v, mlxg_array** dst);
void mlxg_vec_free(mlxg_vec* v);
void mlxg_vec_push(mlxg_vec* v, mlxg_array* a);

// evaluation.cpp: see the description there.
// Without a ticket and an error all arrays are there. With again set nothing was submitted: wait and try again.
typedef struct {
  mlxg_ticket* ticket;
  bool again;
  mlxg_error err;
  int64_t active_bytes, live_handles;
} mlxg_submitted;
mlxg_submitted mlxg_submit(mlxg_array* const* handles, int n, bool async);
// A ticket to wait for all that was submitted until now, NULL when all is done.
mlxg_ticket* mlxg_unfinished(void);
// Blocks until the work of the ticket is over. Needs no lock.
void mlxg_ticket_wait(mlxg_ticket* t);
// The outcome of a ticket that was waited for. Frees the ticket.
mlxg_error mlxg_ticket_settle(mlxg_ticket* t);
// An array whose computation throws, for tests of the error path. where: 0 in a queued task, 1 at submission.
mlxg_result mlxg_test_throw(mlxg_array* a, int where, int stream);
// A copy whose computation takes some milliseconds or, with a negative number, waits at the gate.
mlxg_result mlxg_test_sleep(mlxg_array* a, int milliseconds, int stream);
// Opens or closes the gate. Needs no lock.
void mlxg_test_gate(bool open);

// bench.cpp: nanoseconds for each of n calls; negative when it cannot be told.
double mlxg_bench_add(mlxg_array* a, mlxg_array* b, int n, bool evaluate, int stream);
double mlxg_bench_sgemm(const float* a, const float* b, float* c, int size, int n);

// transforms.cpp: functions are numbers that Go resolves; Go runs them through mlxgo_call.
enum { MLXG_CALL_FUNCTION, MLXG_CALL_VJP };
mlxg_results mlxg_vjp(uintptr_t fn, mlxg_arrays primals, mlxg_arrays cotangents, int* outputs);
mlxg_results mlxg_jvp(uintptr_t fn, mlxg_arrays primals, mlxg_arrays tangents, int* outputs);
mlxg_results mlxg_value_and_grad(uintptr_t fn, mlxg_arrays args, mlxg_ints argnums, int* outputs);
mlxg_results mlxg_vmap(uintptr_t fn, mlxg_arrays args, mlxg_ints in_axes, mlxg_ints out_axes);
mlxg_results mlxg_checkpoint(uintptr_t fn, mlxg_arrays args);
mlxg_results mlxg_custom_vjp(uintptr_t fn, uintptr_t vjp, mlxg_arrays args);
mlxg_results mlxg_compiled_call(uintptr_t fn, uintptr_t id, bool shapeless, mlxg_arrays args);
void mlxg_compiled_erase(uintptr_t id);
void mlxg_set_compile_mode(int mode);
// Numbers of functions that no graph needs any more; at most n are written.
int mlxg_released_functions(uintptr_t* dst, int n);
// Starts an OS thread with a large stack that runs mlxgo_worker(id) and never ends.
int mlxg_start_worker(uintptr_t id);
// 1 + the worker's id when the calling thread is a worker, else 0. Needs no lock.
uintptr_t mlxg_current_worker(void);

// memory.cpp
enum { MLXG_ACTIVE, MLXG_PEAK, MLXG_CACHE, MLXG_LIMIT };
int64_t mlxg_memory(int which);
void mlxg_reset_peak_memory(void);
mlxg_error mlxg_clear_cache(void);
int64_t mlxg_set_memory_limit(int64_t bytes);
mlxg_error mlxg_set_cache_limit(int64_t bytes, int64_t* previous);

// distributed.cpp
typedef struct {
  mlxg_group* group;
  int rank, size;
  mlxg_error err;
} mlxg_group_result;
bool mlxg_distributed_available(mlxg_string backend);
mlxg_group_result mlxg_group_init(bool strict, mlxg_string backend);
mlxg_group_result mlxg_group_split(mlxg_group* g, int color, int key);
void mlxg_group_free(mlxg_group* g);
enum { MLXG_ALL_SUM, MLXG_ALL_MAX, MLXG_ALL_MIN, MLXG_ALL_GATHER, MLXG_SUM_SCATTER };
mlxg_result mlxg_collective(int which, mlxg_array* a, mlxg_group* g, int stream);
mlxg_result mlxg_send(mlxg_array* a, int dst, mlxg_group* g, int stream);
mlxg_result mlxg_recv(mlxg_ints shape, int dtype, int src, mlxg_group* g, int stream);

#ifdef __cplusplus
}
#endif
