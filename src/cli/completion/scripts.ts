import { script } from "@bomb.sh/tab";

export const shells = ["bash", "zsh", "fish", "powershell"] as const;
export type Shell = (typeof shells)[number];

/** The script that a shell loads; it asks `svc complete -- WORDS` at each Tab. */
export function completionScript(shell: Shell): string {
  if (shell === "bash") return bash;
  const ofOne = fromLibrary(shell);
  if (shell === "zsh") return ofOne.replace(/^(#?compdef(?: _svc)? svc)$/gm, `$1 ${otherName}`);
  return shell === "fish" ? `${ofOne}complete -c ${otherName} -w svc\n` : ofOne;
}

/** The program has a second name (package.json), which is completed as the first. */
const otherName = "svc-toolkit";

/** The library only prints. Nothing else runs meanwhile: the call is synchronous. */
function fromLibrary(shell: Exclude<Shell, "bash">): string {
  const printed: string[] = [];
  const { log } = console;
  console.log = (text: unknown) => void printed.push(String(text));
  try {
    script(shell, "svc", "svc");
  } finally {
    console.log = log;
  }
  return `${printed.join("\n")}\n`;
}

/**
 * By hand: the library's needs a package that many systems lack, complains when it is loaded twice, and evaluates the
 * words, so that Tab would run what stands in `$(…)`.
 */
const bash = `# bash completion for svc
__svc_complete() {
    local cur line value directive=0 words=() svc=(svc) i
    # Only installed in a project: svc() { npx svc "$@"; }
    type -P svc >/dev/null || svc=(npx --no-install svc-toolkit)
    # "=" splits words here; they are put together again.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if [[ \${COMP_WORDS[i]} == "=" && \${#words[@]} -gt 0 ]]; then
            words[\${#words[@]}-1]+="="
        elif [[ \${#words[@]} -gt 0 && \${words[\${#words[@]}-1]} == --*= ]]; then
            words[\${#words[@]}-1]+="\${COMP_WORDS[i]}"
        else
            words+=("\${COMP_WORDS[i]}")
        fi
    done
    cur="\${COMP_WORDS[COMP_CWORD]}"
    [[ $cur == "=" ]] && cur=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            directive=\${line#:}
        else
            value=\${line%%$'\\t'*}
            [[ $value == "$cur"* ]] && COMPREPLY+=("$value")
        fi
    done < <("\${svc[@]}" complete -- "\${words[@]}" 2>/dev/null)
    if (((directive & 2) != 0)); then compopt -o nospace 2>/dev/null; fi
    if [[ \${#COMPREPLY[@]} -eq 0 ]] && (((directive & 4) == 0)); then
        compopt -o default 2>/dev/null
    fi
}
complete -F __svc_complete svc ${otherName}
`;
