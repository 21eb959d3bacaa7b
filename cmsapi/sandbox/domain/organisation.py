"""The user, the organisation's members and its workspaces (specification, sections 2.1, 2.2 and 4.1, 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.world.clock import timestamp

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call, Document
    from cmsapi.sandbox.world.records import BrandVoice, ContentStatus, User, Workspace


def show_person(user: User | None) -> Document | None:
    """Show a user in short form."""
    if user is None:
        return None
    return {"id": user.id, "firstName": user.first_name, "lastName": user.last_name}


def show_workspace(workspace: Workspace) -> Document:
    """Show a workspace (section 2.2)."""
    return {
        "id": workspace.id,
        "name": workspace.name,
        "websiteUrl": workspace.website_url,
        "countryCode": workspace.country_code,
        "countryName": workspace.country_name,
        "languageCode": workspace.language_code,
        "createdAt": timestamp(workspace.created_at),
        "organization": {"id": workspace.organization.id, "name": workspace.organization.name},
    }


def show_status(status: ContentStatus) -> Document:
    """Show a workflow status (section 2.4)."""
    return {
        "id": status.id,
        "label": status.label,
        "color": status.color,
        "position": status.position,
        "isReadOnly": status.is_read_only,
    }


def get_me(call: Call) -> Document:
    """Show the owner of the key, with the organisation's balances."""
    user, organization = call.user, call.user.organization
    balances = call.world.billing.balances
    return {
        **_profile(user),
        "languageCode": user.language_code,
        "organization": {
            "id": organization.id,
            "name": organization.name,
            "createdAt": timestamp(organization.created_at),
            "brandName": organization.brand_name,
            "brandImageUrl": organization.brand_image_url,
            "credits": {
                "analysis": balances.analysis,
                "aiWriting": balances.ai_writing,
                "contentIdeasSearches": balances.content_ideas_searches,
            },
            "usersCount": len(_members(call)),
            "workspacesCount": sum(w.organization is organization for w in call.store.workspaces.values()),
        },
    }


def list_users(call: Call) -> Document:
    """List the organisation's members with the roles `Admin` and `Member` (section 4.8)."""
    return call.page(_members(call), lambda user: {**_profile(user), "role": user.role})


def list_workspaces(call: Call) -> Document:
    """List the workspaces of the user."""
    mine = [workspace for workspace in call.store.workspaces.values() if call.user.id in workspace.member_ids]
    return call.page(mine, show_workspace)


def get_workspace(call: Call) -> Document:
    """Show one workspace."""
    return show_workspace(call.workspace())


def list_workspace_members(call: Call) -> Document:
    """List the members of a workspace with their roles there."""
    members = [call.store.users[id_] for id_ in call.workspace().member_ids]
    return call.page(members, lambda user: {**_profile(user), "role": user.workspace_role})


def list_content_statuses(call: Call) -> Document:
    """List the workflow statuses of a workspace, by position."""
    statuses = call.store.of_workspace(call.store.content_statuses, call.workspace().id)
    return {"data": [show_status(status) for status in sorted(statuses, key=lambda status: status.position)]}


def list_brand_voices(call: Call) -> Document:
    """List the brand voices of a workspace."""
    return call.page(call.store.of_workspace(call.store.brand_voices, call.workspace().id), _show_brand_voice)


def get_brand_voice(call: Call) -> Document:
    """Show one brand voice."""
    return _show_brand_voice(call.find(call.store.brand_voices, "brandVoiceId"))


def _members(call: Call) -> list[User]:
    return [user for user in call.store.users.values() if user.organization is call.user.organization]


def _profile(user: User) -> Document:
    return {
        "id": user.id,
        "firstName": user.first_name,
        "lastName": user.last_name,
        "email": user.email,
        "profileImageUrl": user.profile_image_url,
        "jobTitle": user.job_title,
        "createdAt": timestamp(user.created_at),
    }


def _show_brand_voice(voice: BrandVoice) -> Document:
    return {
        "id": voice.id,
        "name": voice.name,
        "brandName": voice.brand_name,
        "targetAudience": voice.target_audience,
        "additionalInformation": voice.additional_information,
        "enabled": voice.enabled,
        "status": voice.status,
        "createdAt": timestamp(voice.created_at),
    }
