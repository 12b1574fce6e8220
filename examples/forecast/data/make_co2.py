"""Makes co2.csv: monthly means of the CO2 in the air at Mauna Loa, Hawaii, in parts per million.

The weekly measurements are those of C. D. Keeling and T. P. Whorf, "Atmospheric CO2 concentrations derived from
flask air samples at sites in the SIO network", Carbon Dioxide Information Analysis Center, Oak Ridge National
Laboratory, 2004: public domain, shipped by the Python package statsmodels.

    pip install --no-deps --target lib statsmodels==0.15.0   # only its data file is read
    python make_co2.py lib/statsmodels/datasets/co2/co2.csv > co2.csv

A month without a measurement gets the mean of its neighbours.
"""

import csv
import sys

months = {}
with open(sys.argv[1]) as f:
    for row in csv.DictReader(f):
        if row["co2"]:
            months.setdefault(row["date"][:6], []).append(float(row["co2"]))

first, last = min(months), max(months)
year, month = int(first[:4]), int(first[4:])
series = []
while True:
    key = f"{year}{month:02d}"
    values = months.get(key)
    series.append((f"{year}-{month:02d}", sum(values) / len(values) if values else None))
    if key == last:
        break
    year, month = (year, month + 1) if month < 12 else (year + 1, 1)

print("month,ppm")
for i, (name, value) in enumerate(series):
    if value is None:
        before = next(v for _, v in reversed(series[:i]) if v is not None)
        after = next(v for _, v in series[i:] if v is not None)
        value = (before + after) / 2
    print(f"{name},{value:.2f}")
