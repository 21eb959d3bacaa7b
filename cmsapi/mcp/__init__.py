"""Serve the SDK to assistants over the Model Context Protocol (extra `mcp`).

Tools read, plan, launch, wait and decide; resources are the contents. A person sets the most credits when the server
starts, and no tool can raise them. `cmsapi mcp` runs the server.
"""
