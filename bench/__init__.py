"""The harness: it knows nothing of the strategies but their contract, and nothing of the server but its port.

The straight line, one small function a step::

    experiment.toml --load--> Experiment --expand--> [Trial] --run_trial--> Row --append--> rows.jsonl
    rows.jsonl --read--> [Row] --summarise--> Summary --> table | plots

``experiment`` and ``plan`` say what is to be run, ``run`` runs it with what is in ``measure``; ``analyse`` and
``present`` see nothing but rows. ``cli`` is the way in.
"""
