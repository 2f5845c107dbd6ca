"""Limits of this machine: predicted from what the system says, and found by driving a child process into them.

::

    linux | elsewhere --look--> Facts --bounds--> [Bound] --ceilings--> [Ceiling]        predict
                                                     |                     |
    watch <--> child     a ramp ---------------------+----> diagnose ---> Finding        find

``parse``, ``bounds``, ``growth``, ``ceilings``, ``diagnose`` and ``finding`` are pure. Nothing here needs an installed
package, except on systems without ``/proc``.
"""

from bench.measure.limits.ceilings import Ceiling
from bench.measure.limits.front import (
    RESERVE,
    RESOURCES,
    descriptor_shortage,
    descriptors_needed,
    find,
    known,
    predict,
    thread_shortage,
)

__all__ = [
    "RESERVE",
    "RESOURCES",
    "Ceiling",
    "descriptor_shortage",
    "descriptors_needed",
    "find",
    "known",
    "predict",
    "thread_shortage",
]
