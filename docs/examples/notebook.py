# %% [markdown]
# # Reading a stored run
#
# A notebook kept as a script: each `# %%` begins a cell (Jupyter with jupytext, VS Code, PyCharm, Spyder). It also runs
# as it is, on the run that it is given or on the newest reference run of the preset `quick`:
#
#     python docs/examples/notebook.py [RUN]

# %%
"""Read a stored run: its tables, a ratio with its spread, and two plots side by side."""

import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from inflight import load
from inflight.bench.core.rows import newest

# %% [markdown]
# ## The run
#
# `load` takes the folder of any run. To measure instead: `from inflight import run` and `results = run("quick")`.

# %%
given = [Path(word) for word in sys.argv[1:] if Path(word).is_dir()]
if given:
    folder = given[0]
else:
    places = [parent / "results" / "reference" for parent in (Path.cwd(), *Path.cwd().parents)]
    reference = next((place for place in places if place.is_dir()), Path("results"))
    folder = newest(reference, lambda run: run.name.endswith("-quick"), "run of quick")

results = load(folder)
print(results)
print(f"{results.machine.get('cpu')}, {results.machine.get('python')}")

# %% [markdown]
# ## Tables
#
# Durations are in nanoseconds, sizes in bytes. `docs/api.md` explains every column.

# %%
cells = results.cells
most = cells["in_flight"].max()
busiest = cells[(cells["in_flight"] == most) & cells["valid"]]
print(f"\nThroughput with {most} in flight: median, slowest and fastest round")
print(busiest[["strategy", "latency", "pages_per_s", "pages_per_s_low", "pages_per_s_high"]].to_string(index=False))

# %%
memory = results.memory
user = memory[(memory["layer"] == "user") & memory["bytes_per_fetch"].notna()]
print("\nUser memory of one more fetch in flight, in kB, and its interval of 95 % (not straight: quote the range only)")
sizes = ["bytes_per_fetch", "bytes_per_fetch_low", "bytes_per_fetch_high"]
print((user.set_index("strategy")[sizes] / 1000).round(1).join(user.set_index("strategy")["straight"]).to_string())

# %%
checks = results.checks
print("\nChecks that failed, and how often")
failed = checks[checks["verdict"] == "failed"]
print(failed["name"].value_counts().to_string() if len(failed) else "none")

# %% [markdown]
# ## A ratio with its spread
#
# The trials of one round ran at about the same time, so a slow minute meets both sides: divide within each round, then
# look at the median of the ratios and at their range. Red trials count for nothing.

# %%
ONE, OTHER = "callbacks", "thread_pool"

trials = results.trials
crawls = trials[(trials["kind"] == "crawl") & trials["valid"]]
rates = crawls.pivot_table(index=["workload", "round"], columns="strategy", values="pages_per_s")
rates = rates.reindex(columns=[ONE, OTHER]).dropna()
ratios = (rates[ONE] / rates[OTHER]).groupby(level="workload")
spread = pd.DataFrame({"median": ratios.median(), "low": ratios.min(), "high": ratios.max(), "rounds": ratios.size()})
print(f"\nThroughput of {ONE} as a multiple of that of {OTHER}")
print(spread.round(2).to_string())

# %% [markdown]
# Where the range includes 1, or there is one round only, these rounds do not say which one is faster. For a verdict
# with known error rates: `inflight ab`.

# %% [markdown]
# ## Two plots side by side
#
# Each plot goes onto an Axes of yours. In Jupyter, `%matplotlib inline` shows the figure when it is the last thing in a
# cell.

# %%
figure = Figure(figsize=(15, 6), layout="constrained")
left, right = figure.subplots(1, 2)
results.plot_throughput(ax=left)
results.plot_cpu(ax=right)
figure.savefig("two-plots.png", dpi=100)
print("\nwritten: two-plots.png")
