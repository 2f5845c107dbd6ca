# %% [markdown]
# # How many at once?
#
# After this notebook you can predict how many pages per second a program fetches when it waits for several at once,
# measure it, and read the tables of a larger run.
#
# There are two files with the same content: `notebook.ipynb` for Jupyter, and `notebook.py` with cells for VS Code,
# PyCharm and Spyder. The second file also runs as a script:
#
#     python docs/examples/notebook.py [RUN]
#
# The notebook stores no output. All figures come from your machine, or from a stored run that is named.

# %%
"""Predict, measure and plot pages per second over fetches in flight; then read a stored run."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from urllib.request import urlopen

import pandas as pd
from matplotlib import pyplot as plt

from inflight import load, run
from inflight.bench.measure.server import running
from inflight.bench.rows.files import newest
from inflight.fake_server.site import SiteConfig

# %% [markdown]
# ## 1. Demo
#
# A site on this machine answers each request after 20 ms, as a server in the same country would. The same fifty
# pages are fetched twice: one after another, and ten at a time.

# %%
LATENCY_S = 0.020


def fetch(url: str) -> bytes:
    """Fetch a page of the local site over a new connection."""
    with urlopen(url) as response:  # noqa: S310  (the URL is one of ours)
        body: bytes = response.read()
    return body


with running(None) as site:
    site.configure(SiteConfig(pages=100, delay="20ms"))
    urls = [f"{site.base}/p/{number}" for number in range(1, 51)]

    start = perf_counter()
    for url in urls:
        fetch(url)
    one_by_one_s = perf_counter() - start

    start = perf_counter()
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(fetch, urls))
    ten_at_a_time_s = perf_counter() - start

print(f"one after another: {one_by_one_s:.2f} s")
print(f"ten at a time:     {ten_at_a_time_s:.2f} s")

# %% [markdown]
# The program did the same work both times. The first time it waited fifty times, one wait after another. The second
# time, ten waits overlapped.

# %% [markdown]
# ## 2. Prediction
#
# Now the pages are fetched with threads and with asyncio, with 1, 10 and 50 fetches in flight, at 20 ms per page.
# **How many pages per second?** Which of the two is faster with 50 in flight? Write down your numbers before you go
# on: replace `None`.

# %%
predicted: dict[int, float | None] = {1: None, 10: None, 50: None}

# %% [markdown]
# ## 3. Measurement
#
# An experiment is a file. Each trial runs in its own process, and checks whether something disturbed it: `valid` says
# whether it passed these checks. Close other programs that use the CPU. This takes about ten seconds.

# %%
EXPERIMENT = """
strategies = ["thread_pool", "native_asyncio"]

[[crawl]]
latency = ["20ms"]
in_flight = [1]
pages = 50

[[crawl]]
latency = ["20ms"]
in_flight = [10, 50]
pages = 500
"""
with TemporaryDirectory() as work:
    experiment = Path(work, "how-many.toml")
    experiment.write_text(EXPERIMENT, encoding="utf-8")
    measured = run(experiment, out=work)

throughput = measured.table("throughput")
print(throughput[["line", "in_flight", "estimate", "valid"]].to_string(index=False))

# %% [markdown]
# ## 4. Plot
#
# The dashed line is the ideal: in flight / latency. With 10 in flight and 20 ms, that is 10 / 0.020 s = 500 pages per
# second. The crosses are your predictions.

# %%
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
numbers = list(predicted)
axes.plot(numbers, [number / LATENCY_S for number in numbers], "k--", label="in flight / latency")
for name, means in throughput.groupby("line"):
    axes.plot(means["in_flight"], means["estimate"].astype(float), "o", label=str(name), alpha=0.6)
yours = {number: guess for number, guess in predicted.items() if guess is not None}
axes.plot(list(yours), list(yours.values()), "rx", label="predicted")
axes.set(xscale="log", yscale="log", xlabel="fetches in flight", ylabel="pages per second")
axes.set_xticks(numbers, labels=map(str, numbers))
axes.yaxis.set_major_formatter("{x:,.0f}")
axes.legend()
figure.savefig("how-many.png", dpi=100)
print("\nwritten: how-many.png")

# %% [markdown]
# The formula does not depend on the model, and the points of both models are near its line. While a program waits, it
# does not matter how it waits. The points leave the line when the CPU is busy all the time. This is the knee.

# %% [markdown]
# ## 5. A larger run
#
# `load` reads the folder of any run. This cell reads the newest reference run of the preset `quick`, or the run given
# on the command line. Durations are in nanoseconds, sizes are in bytes. `docs/api.md` explains every column.

# %%
given = [Path(word) for word in sys.argv[1:] if Path(word).is_dir()]
if given:
    folder = given[0]
else:
    places = [parent / "results" / "reference" for parent in (Path.cwd(), *Path.cwd().parents)]
    reference = next((place for place in places if place.is_dir()), Path("results"))
    folder = newest(reference, lambda one: one.name.endswith("-quick"), "run of quick")

results = load(folder)
print(results)
print(f"{results.machine.get('cpu')}, {results.machine.get('python')}")

# %%
throughput = results.table("throughput")
most = throughput["in_flight"].max()
busiest = throughput[(throughput["in_flight"] == most) & throughput["valid"]]
print(f"\nPages per second with {most} in flight: mean, and its 95 % interval")
print(busiest[["line", "latency", "estimate", "low", "high"]].to_string(index=False))

# %%
memory = results.table("memory")
user = memory[(memory["layer"] == "user") & (memory["group"] == "held") & memory["estimate"].notna()].set_index("line")
print("\nUser memory per additional fetch in flight (kB), with its 95 % interval (not straight: state the range only)")
print((user[["estimate", "low", "high"]] / 1000).round(1).join(user["is_straight"]).to_string())

# %%
checks = results.checks
print("\nChecks that failed, and how often")
failed = checks[checks["verdict"] == "failed"]
print(failed["name"].value_counts().to_string() if len(failed) else "none")

# %% [markdown]
# ### A ratio with its spread
#
# The trials of one round ran at about the same time, so a slow minute of the machine affects both strategies. Divide
# within each round. Then look at the median and the range of the ratios. Trials that failed a check are excluded.

# %%
ONE, OTHER = "callbacks", "thread_pool"

trials = results.trials
crawls = trials[trials["kind"].isin(["arm", "crawl"]) & trials["valid"]]
rates = crawls.pivot_table(index=["workload", "round"], columns="strategy", values="pages_per_s")
rates = rates.reindex(columns=[ONE, OTHER]).dropna()
ratios = (rates[ONE] / rates[OTHER]).groupby(level="workload")
spread = pd.DataFrame({"median": ratios.median(), "low": ratios.min(), "high": ratios.max(), "rounds": ratios.size()})
print(f"\nThroughput of {ONE} as a multiple of that of {OTHER}")
print(spread.round(2).to_string())

# %% [markdown]
# If the range includes 1, or if there is only one round, it is not known which strategy is faster. `inflight ab` gives
# a verdict with known error rates.

# %% [markdown]
# ### Two plots side by side
#
# You can draw a panel of each study onto your own Axes.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(15, 6), layout="constrained")
results.plot("throughput", ax=left)
results.plot("cpu", ax=right)
figure.savefig("two-plots.png", dpi=100)
print("\nwritten: two-plots.png")

# %% [markdown]
# ## 6. Exercises
#
# 1. Change the latency of the experiment to `"0"`. Predict first: is 50 in flight still better than 10? Which of
#    the two is faster now, and why?
# 2. Add `"1ms"` and 500 in flight. Where is the knee? It is near the number in flight at which
#    in flight / latency = 1 / CPU time per page; `measured.table("cpu")` has the CPU times (ns).
# 3. In section 5, choose another pair of strategies. For which workloads does the range include 1?
# 4. Write such programs yourself: start with `make exercise-1` (see `docs/exercises`).
