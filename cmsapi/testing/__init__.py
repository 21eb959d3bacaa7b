"""Tools for testing programs that use cmsapi.

`HandlerTransport` answers requests with a function. The pytest plugin, loaded automatically, provides the fixtures
``cms_sandbox`` and ``cms_client``. ``unittest.mock.create_autospec(cmsapi.Client)`` mocks the client.
"""

from cmsapi.testing.handler import HandlerTransport

__all__ = ["HandlerTransport"]
