"""Make ``strategies`` an alias of ``inflight.strategies``, for strategies that were written before the renaming.

``sides`` puts a copy of this file, named strategies.py, on the import path of an arm's worker. It runs only when a
strategy imports that name. Each module is loaded once, whichever of its names is imported first, so a strategy and the
worker share the same classes.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OLD = "strategies"
NEW = f"inflight.{OLD}"


class OldName(MetaPathFinder, Loader):
    """Finds ``strategies.x`` as ``inflight.strategies.x``."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claim every module below the old name."""
        return ModuleSpec(fullname, self) if fullname.startswith(f"{OLD}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of the new name, which keeps its own spec."""
        module = importlib.import_module(f"inflight.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec of the module, which already ran when it was loaded by its new name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


if __name__ == OLD:
    sys.meta_path.insert(0, OldName())
    sys.modules[OLD] = importlib.import_module(NEW)
