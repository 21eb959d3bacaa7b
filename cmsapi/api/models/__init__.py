"""Resources of the service as frozen attrs classes, one module per resource; `cmsapi.api.wire` reads them."""
