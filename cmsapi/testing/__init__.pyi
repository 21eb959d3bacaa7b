# The public names and their modules. At run time `cmsapi.testing` imports each name from here on its first use.

from cmsapi.sandbox import (
    Fault as Fault,
    Faults as Faults,
    storm as storm,
)
from cmsapi.testing.documents import finished_keyword as finished_keyword
from cmsapi.testing.handler import (
    HandlerTransport as HandlerTransport,
    RecordedRequest as RecordedRequest,
    error_response as error_response,
    json_response as json_response,
)
from cmsapi.testing.mocked import mocked_aiohttp as mocked_aiohttp
from cmsapi.testing.requests import assert_requests as assert_requests

__all__: list[str]
