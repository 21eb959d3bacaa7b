"""The organization: its user, members, workspaces and credits (specification 4.1, 4.2, 4.7)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.store import Record


def get_me(call: Call) -> Document:
    """Return the user of the key."""
    return documents.user(call.store, call.user, call.jobs.credits.balances)


def list_users(call: Call) -> Document:
    """List the members of the organization by role."""
    return call.page(
        call.store.find("users"), lambda user: {**documents.pick(user, documents.MEMBER), "role": user["role"]}
    )


def list_workspaces(call: Call) -> Document:
    """List the user's workspaces."""
    visible = [each for each in call.store.find("workspaces") if each["id"] in call.user["workspaceIds"]]
    return call.page(visible, lambda workspace: documents.workspace(call.store, workspace))


def get_workspace(call: Call) -> Document:
    """Return a workspace."""
    return documents.workspace(call.store, call.get("workspaces", "workspaceId"))


def list_workspace_members(call: Call) -> Document:
    """List the members of a workspace by role."""
    workspace = call.get("workspaces", "workspaceId")["id"]
    members = [user for user in call.store.find("users") if workspace in user["workspaceIds"]]
    return call.page(members, lambda user: {**documents.pick(user, documents.MEMBER), "role": user["workspaceRole"]})


def list_credit_usages(call: Call) -> Document:
    """List the credit usages of one type whose keyword contains a text."""
    text = call.query.get("q", "").lower()

    def matches(usage: Record) -> bool:
        return text in usage["keyword"].lower()

    usages = filter(matches, call.store.find("usages", type=call.query["type"]))
    return call.page(usages, lambda usage: documents.credit_usage(call.store, usage))
