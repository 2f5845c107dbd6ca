"""The harness: it knows nothing of the strategies but their contract, and nothing of the server but its port.

The straight line, one small function a step::

    experiment.toml --load--> Experiment --expand--> [Trial] --run_trial--> Row --append--> rows.jsonl
    rows.jsonl --read--> [Row] --summarise--> Summary --> table | plots | report.html

``core.experiment`` and ``core.plan`` say what is to be run, ``measure.run`` runs it; ``report`` sees nothing but rows.
``cli`` is the way in for people; ``inflight.load`` and ``inflight.run`` are for programs.
"""
