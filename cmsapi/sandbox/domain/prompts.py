"""Prompts: questions asked to AI answer engines, and their analysis (specification, section 4.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.domain import analyses, reports
from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.world.records import Prompt

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

KIND = "prompt_analysis"


def list_prompts(call: Call) -> Document:
    """List the prompts of a keyword."""
    keyword = call.find(call.store.keywords, "keywordId")
    return call.page(call.store.prompts.of(keyword.id), lambda prompt: _show(call.world, call.view(prompt)))


def add_prompt(call: Call) -> Document:
    """Add a prompt to a keyword."""
    keyword = call.find(call.store.keywords, "keywordId")
    prompt = Prompt(call.store.new_id("prm"), keyword.workspace_id, keyword.id, call.body["prompt"], call.world.now)
    call.store.prompts[prompt.id] = prompt
    call.target_id = prompt.id
    return _show(call.world, call.world.history.present(prompt))


def get_prompt(call: Call) -> Document:
    """Show one prompt with its `analysisStatus`."""
    return _show(call.world, call.view(call.find(call.store.prompts, "promptId")))


def analyze_prompt(call: Call) -> Document:
    """Launch an analysis of a prompt."""
    prompt = call.find(call.store.prompts, "promptId")
    amount = call.world.behaviour.prompt_analysis_credits
    keyword = call.store.keywords[prompt.keyword_id]
    return analyses.launch(call, KIND, prompt, keyword, amount)


def score_prompt(call: Call) -> Document:
    """Score a content or a text against the answers to a prompt; null before its first analysis."""
    prompt = call.find(call.store.prompts, "promptId")
    text = reports.text_of(call, prompt.workspace_id)
    return {"chatgpt": reports.report(call.world, prompt.id, prompt.prompt, text) if prompt.analyzed else None}


def complete(world: World, job: Job) -> None:
    """End a prompt's analysis."""
    analyses.end(world, world.store.prompts[job.target_id], job)


def _show(world: World, seen: Seen[Prompt]) -> Document:
    return show("Prompt", seen.record, analysis_status=analyses.status(world, seen))
