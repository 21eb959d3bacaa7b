"""Answer to a launch that returns no resource (specification, section 4.5)."""

from __future__ import annotations

import attrs

from cmsapi.api.model import Model


@attrs.frozen(kw_only=True)
class Acknowledgement(Model):
    """Describe the answer to a launch; it carries no identifier of a job.

    Args:
        message: The service's own words; not stable.
    """

    message: str
