"""`/docs`: the reference that can send a request."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from cmsapi.sandbox import Fault, Sandbox

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]


async def test_it_has_every_operation(page: Page, box: Sandbox) -> None:
    """It is drawn from the description, and the filter finds an operation."""
    await page.goto(f"{box.base_url}/docs")
    await expect(page.locator("details.card")).to_have_count(46)
    await page.get_by_label("Filter the operations").fill("idea")
    await expect(page.locator("details.card:visible")).to_have_count(3)


async def test_it_shows_the_texts_of_the_description(page: Page, box: Sandbox) -> None:
    """An opened operation has its text, the words of an enumeration, and the reason of its conflict."""
    await page.goto(f"{box.base_url}/docs#update_content")
    operation = page.locator("#update_content")
    await expect(operation).to_contain_text("Send the version that the changes are based on.")
    await expect(operation).to_contain_text('"DRAFT" | "PUBLISHED" | "ORIGINAL"')
    await operation.get_by_text("Errors").click()
    await expect(operation.get_by_text("409 The content has another version")).to_be_visible()


async def test_a_request_can_be_sent(page: Page, box: Sandbox) -> None:
    """A launch with the suggested values takes effect, and no key is in an address, in the page or in a storage."""
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    await page.goto(f"{box.base_url}/docs#analyze_keyword")
    operation = page.locator("#analyze_keyword")
    await operation.get_by_role("button", name="Send").click()
    await expect(operation.locator(".answer")).to_contain_text("202 Accepted")
    await expect(operation.locator(".answer")).to_contain_text("X-RateLimit-Remaining: 999")
    (launch,) = box.ledger.launches()
    assert (launch.key, launch.target_id) == ("admin", box.keyword_ids[0])
    kept = await page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    for key in (box.api_key, box.member_key):
        assert not any(key in address for address in addresses)
        assert key not in await page.content()
        assert key not in kept


@pytest.mark.parametrize("name", ["create_content", "create_folder", "start_content_idea_search", "score_keyword"])
async def test_the_suggested_bodies_are_good(page: Page, box: Sandbox, name: str) -> None:
    """What the form suggests is accepted, or refused for a reason that is not its shape."""
    await page.goto(f"{box.base_url}/docs#{name}")
    operation = page.locator(f"#{name}")
    await operation.get_by_role("button", name="Send").click()
    await expect(operation.locator(".answer .word")).to_have_text(
        "409 Conflict" if name == "score_keyword" else "202 Accepted" if "search" in name else "201 Created"
    )


async def test_another_key_and_none(page: Page, box: Sandbox) -> None:
    """A request is sent with the member key, with another key, or with none."""
    await page.goto(f"{box.base_url}/docs#get_me")
    send, told = page.locator("#get_me").get_by_role("button", name="Send"), page.locator("#get_me .answer .word")
    for choice, answer in (("the member key", "200 OK"), ("no key", "401"), ("another key", "401")):
        await page.get_by_label("Send with").select_option(label=choice)
        if choice == "another key":
            await page.get_by_label("Key", exact=True).fill(box.revoked_key)
        await send.click()
        await expect(send).to_be_enabled()
        await expect(told).to_contain_text(answer)
    assert [entry.key for entry in box.ledger.filter(path="/v1/me")] == ["member", "none", "revoked"]


async def test_a_broken_connection_is_told(page: Page, box: Sandbox) -> None:
    """A fault is an answer worth showing, too; without the description the table stays."""
    await page.goto(f"{box.base_url}/docs#get_me")
    await expect(page.locator("#get_me form")).to_be_visible()
    box.add_fault(Fault(match="GET /v1/me", drop=True, times=None))
    await page.locator("#get_me").get_by_role("button", name="Send").click()
    await expect(page.locator("#get_me .answer")).to_contain_text("The connection broke")
    box.add_fault(Fault(match="GET /openapi.json", status=503))
    await page.reload()
    await expect(page.get_by_role("alert")).to_contain_text("cannot read")
    await expect(page.get_by_role("row")).to_have_count(44)
