"""The user, the organisation's members and its workspaces (specification, sections 2.1, 2.2 and 4.1, 4.2)."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from cmsapi.sandbox.messages.resources import show

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.records import User, Workspace


def get_me(call: Call) -> Document:
    """Show the owner of the key, with the organisation's balances."""
    user, organization = call.user, call.user.organization
    shown = show(
        "Organization",
        organization,
        credits=show("CreditBalances", call.world.bookkeeper.balances),
        users_count=len(_members(call)),
        workspaces_count=sum(w.organization is organization for w in call.store.workspaces.values()),
    )
    return show("User", user, organization=shown)


def list_users(call: Call) -> Document:
    """List the organisation's members with the roles `Admin` and `Member` (section 4.8)."""
    return call.page(_members(call), partial(show, "Member"))


def list_workspaces(call: Call) -> Document:
    """List the workspaces of the user."""
    mine = [workspace for workspace in call.store.workspaces.values() if call.user.id in workspace.member_ids]
    return call.page(mine, _show_workspace)


def get_workspace(call: Call) -> Document:
    """Show one workspace."""
    return _show_workspace(call.workspace())


def list_workspace_members(call: Call) -> Document:
    """List the members of a workspace with their roles there."""
    members = [call.store.users[id_] for id_ in call.workspace().member_ids]
    return call.page(members, lambda user: show("WorkspaceMember", user, role=user.workspace_role))


def list_content_statuses(call: Call) -> Document:
    """List the workflow statuses of a workspace, by position."""
    statuses = call.store.of_workspace(call.store.content_statuses, call.workspace().id)
    return {"data": [show("ContentStatus", status) for status in sorted(statuses, key=attrgetter("position"))]}


def list_brand_voices(call: Call) -> Document:
    """List the brand voices of a workspace."""
    return call.page(call.store.of_workspace(call.store.brand_voices, call.workspace().id), partial(show, "BrandVoice"))


def get_brand_voice(call: Call) -> Document:
    """Show one brand voice."""
    return show("BrandVoice", call.find(call.store.brand_voices, "brandVoiceId"))


def _members(call: Call) -> list[User]:
    return [user for user in call.store.users.values() if user.organization is call.user.organization]


def _show_workspace(workspace: Workspace) -> Document:
    return show("Workspace", workspace, organization=show("Reference", workspace.organization))
