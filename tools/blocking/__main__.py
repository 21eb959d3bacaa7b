"""Write the classes of `cmsapi.blocking`: `python -m tools.blocking`, which is `make blocking`."""

from tools.blocking.classes import FILES
from tools.blocking.writing import PACKAGE, written

for name in FILES:
    (PACKAGE / name).write_text(written(name))
