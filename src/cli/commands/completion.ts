import { type Command, defineCommand } from "../command.ts";
import { completionScript } from "./completion-scripts.ts";

const completion = defineCommand({
  words: ["completion"],
  sendsNothing: true,
  prints: "content",
  summary: "Print the script that completes svc in a shell",
  description:
    'Completes commands, options, values, fields and profiles. It sends no requests. Save the script as a file, which is faster than running svc in each shell. Create its folder first (mkdir -p). bash needs the package bash-completion; without it, source the file in ~/.bashrc. If svc is installed in projects only, define a function: svc() { npx svc "$@"; } in bash and zsh, function svc; npx svc $argv; end in fish, function svc { npx svc @args } in PowerShell. Do not use an alias: zsh would complete npx.',
  positionals: [{ name: "shell", description: "Your shell", choices: ["bash", "zsh", "fish", "powershell"] }],
  flags: [],
  examples: [
    { title: "bash: save it as ~/.local/share/bash-completion/completions/svc", argv: ["completion", "bash"] },
    { title: "zsh: save it as _svc in a folder of $fpath, before compinit", argv: ["completion", "zsh"] },
    { title: "fish: save it as ~/.config/fish/completions/svc.fish", argv: ["completion", "fish"] },
    { title: "PowerShell: save it as a file, and run that in $PROFILE", argv: ["completion", "powershell"] },
  ],
  async run(input, { output }) {
    await output.content([Buffer.from(completionScript(input.positionals.shell))]);
    return undefined;
  },
});

export const commands: readonly Command[] = [completion];
