import type { Command } from "../command.ts";
import type { Shell } from "../completion/scripts.ts";

const completion: Command = {
  words: ["completion"],
  summary: "Print the script that completes svc in a shell",
  description:
    "Commands, flags, values, fields of answers and profiles are completed. Nothing is sent anywhere while you type.",
  positionals: [{ name: "shell", description: "Your shell", choices: ["bash", "zsh", "fish", "powershell"] }],
  flags: [],
  examples: [
    { title: "bash, in ~/.bashrc: source <(svc completion bash)", argv: ["completion", "bash"] },
    { title: "zsh, in ~/.zshrc after compinit: source <(svc completion zsh)", argv: ["completion", "zsh"] },
    { title: "fish, into ~/.config/fish/completions/svc.fish", argv: ["completion", "fish"] },
    {
      title: "PowerShell, in $PROFILE: svc completion powershell | Out-String | iex",
      argv: ["completion", "powershell"],
    },
  ],
  async run(input, { output }) {
    const { completionScript } = await import("../completion/scripts.ts");
    await output.raw(completionScript(input.positionals.shell as Shell));
    return undefined;
  },
};

export const commands: readonly Command[] = [completion];
