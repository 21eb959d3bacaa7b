"""Complete @FILE in bash, which takes the sign for a word of its own."""

from __future__ import annotations

from typing import Any

from cyclopts import App

# What the generated script begins with, whose function is `_cmsapi`.
_BASH = "# Bash completion"
_REJOIN = """
# Bash splits words at an @. Put @FILE together again, and complete it as one word.
_cmsapi_with_files() {
  local -a joined=()
  local i place=$COMP_CWORD
  for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
    if ((i > 0)) && [[ "${COMP_WORDS[i-1]}" == "@" ]]; then
      joined[${#joined[@]}-1]="@${COMP_WORDS[i]}"
      if ((i <= COMP_CWORD)); then place=$((place - 1)); fi
    else
      joined+=("${COMP_WORDS[i]}")
    fi
  done
  local -a COMP_WORDS=("${joined[@]}")
  local COMP_CWORD=$place
  _cmsapi
  if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == */ ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _cmsapi_with_files cmsapi
"""


class CompletedApp(App):
    """Add to the completion script for bash what @FILE needs."""

    def generate_completion(self, **options: Any) -> str:
        """Return the completion script for a shell."""
        script = super().generate_completion(**options)
        return script + _REJOIN if script.startswith(_BASH) else script
