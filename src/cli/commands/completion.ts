import { script } from "@bomb.sh/tab";
import { type Command, defineCommand } from "../command.ts";

export const shells = ["bash", "zsh", "fish", "powershell"] as const;

const completion = defineCommand({
  words: ["completion"],
  sendsNothing: true,
  prints: "content",
  summary: "Print the script that completes svc in a shell",
  description:
    'Completes commands, options, values, fields and profiles. It sends no requests. Save the script as a file, which is faster than running svc in each shell. Create its folder first (mkdir -p). bash needs the package bash-completion; without it, source the file in ~/.bashrc. If svc is installed in projects only, define a function: svc() { npx svc "$@"; } in bash and zsh, function svc; npx svc $argv; end in fish, function svc { npx svc @args } in PowerShell. Do not use an alias: zsh would complete npx.',
  positionals: [{ name: "shell", description: "Your shell", choices: shells }],
  examples: [
    ["bash: save it as ~/.local/share/bash-completion/completions/svc", "completion bash"],
    ["zsh: save it as _svc in a folder of $fpath, before compinit", "completion zsh"],
    ["fish: save it as ~/.config/fish/completions/svc.fish", "completion fish"],
    ["PowerShell: save it as a file, and run that in $PROFILE", "completion powershell"],
  ],
  async run(input, { output }) {
    await output.printContent([Buffer.from(createCompletionScript(input.positionals.shell))]);
  },
});

/** Creates the script that a shell loads. The script runs `svc complete -- WORDS` at each Tab. */
export function createCompletionScript(shell: (typeof shells)[number]): string {
  if (shell === "bash") return bash;
  if (shell === "zsh") return zsh;
  const ofOne = generateFromLibrary(shell);
  if (shell === "fish") return `${ofOne}complete -c ${otherName} -w svc\n`;
  // PowerShell also ends a string at typographic quotes and would evaluate the words after one.
  return ofOne.replace(
    `($_ -replace "'", "''")`,
    "[System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($_)",
  );
}

/** Second name of the program (package.json), which uses the same completion. */
const otherName = "svc-toolkit";

/** The library only prints. The call is synchronous, so its output can be captured. */
function generateFromLibrary(shell: "fish" | "powershell"): string {
  const printedLines: string[] = [];
  const { log } = console;
  console.log = (text: unknown) => void printedLines.push(String(text));
  try {
    script(shell, "svc", "svc");
  } finally {
    console.log = log;
  }
  return `${printedLines.join("\n")}\n`;
}

/**
 * The script of the library is not used. It needs a package that many systems lack, complains when loaded twice, and
 * evaluates the words, so that Tab would run the content of `$(…)` (ARCHITECTURE.md, Written by hand).
 */
const bash = `# bash completion for svc
__svc_complete() {
    local rest=$COMP_LINE word before last=-1 typed cur line value directive=0 words=() svc=(svc) i
    # Only installed in a project: svc() { npx svc "$@"; }
    type -P svc >/dev/null || svc=(npx --no-install svc-toolkit)
    # Bash splits words at "=", ":" and "@"; those with no blank between them are one.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        before=\${rest%%[![:blank:]]*}
        rest=\${rest#"$before$word"}
        if [[ i -gt 1 && -z $before ]]; then
            words[last]+=$word
        elif [[ i -gt 0 ]]; then
            words+=("$word")
            last=$((last + 1))
        fi
    done
    typed=\${words[last]}
    [[ $typed == --*=* ]] && typed=\${typed#*=}
    cur=\${COMP_WORDS[COMP_CWORD]}
    [[ $COMP_WORDBREAKS == *"$cur"* ]] && cur=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            directive=\${line#:}
        else
            value=\${line%%$'\\t'*}
            [[ $value == "$typed"* ]] && COMPREPLY+=("\${value#"\${typed%"$cur"}"}")
        fi
    done < <("\${svc[@]}" complete -- "\${words[@]}" 2>/dev/null)
    if (((directive & 2) != 0)); then compopt -o nospace 2>/dev/null; fi
    if [[ \${#COMPREPLY[@]} -eq 0 ]] && (((directive & 4) == 0)); then
        compopt -o default 2>/dev/null
    fi
}
complete -F __svc_complete svc ${otherName}
`;

/** The library's script is not used: it evaluates the text before the last "=", so Tab would run `$(…)` in it. */
const zsh = `#compdef svc ${otherName}
compdef _svc svc ${otherName}
# zsh completion for svc
_svc() {
    local line directive=0
    local -a candidates options
    for line in "\${(@f)$(svc complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :* ]]; then
            directive=\${line#:}
        elif [[ -n $line ]]; then
            line=\${line//:/\\\\:}
            candidates+=("\${line/$'\\t'/:}")
        fi
    done
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    (((directive & 2) != 0)) && options=(-S '')
    if ((\${#candidates} > 0)); then
        _describe svc candidates "\${options[@]}"
    elif (((directive & 4) == 0)); then
        _files
    fi
}
# The first Tab runs a file in $fpath as the function itself.
[[ \${funcstack[1]} == _svc ]] && _svc "$@"
`;

export const commands: readonly Command[] = [completion];
