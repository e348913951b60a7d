import { type Command, command } from "../command.ts";

const completion = command({
  words: ["completion"],
  prints: "content",
  summary: "Print the script that completes svc in a shell",
  description:
    'Commands, flags, values, fields of answers and profiles are completed. Nothing is sent anywhere while you type. Keep the script as a file: making it anew in each shell costs a start of Node; make its folder first (mkdir -p). bash looks into that folder where the package bash-completion is installed; elsewhere, source the file in ~/.bashrc. Where svc is installed in projects only, a function of that name is completed: svc() { npx svc "$@"; } in bash and zsh, function svc; npx svc $argv; end in fish, function svc { npx svc @args } in PowerShell. An alias would not do: zsh completes npx then.',
  positionals: [{ name: "shell", description: "Your shell", choices: ["bash", "zsh", "fish", "powershell"] }],
  flags: [],
  examples: [
    { title: "bash: keep it as ~/.local/share/bash-completion/completions/svc", argv: ["completion", "bash"] },
    { title: "zsh: keep it as _svc in a folder of $fpath, before compinit", argv: ["completion", "zsh"] },
    { title: "fish: keep it as ~/.config/fish/completions/svc.fish", argv: ["completion", "fish"] },
    { title: "PowerShell: keep it as a file, and run that in $PROFILE", argv: ["completion", "powershell"] },
  ],
  async run(input, { output }) {
    const { completionScript } = await import("../completion/scripts.ts");
    await output.content([Buffer.from(completionScript(input.positionals.shell))]);
    return undefined;
  },
});

export const commands: readonly Command[] = [completion];
