import { useSignal } from "@preact/signals";
import { systemWall } from "../../base/clock.ts";
import { Icon } from "./icon.tsx";

/** Puts a text on the clipboard, and says so. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const outcome = useSignal<string | undefined>(undefined);
  const copy = async () => {
    // Only pages of this machine, or with a certificate, have a clipboard.
    outcome.value = await navigator.clipboard?.writeText(text).then(
      () => "Copied",
      () => "Not allowed to copy",
    );
    outcome.value ??= "Select it to copy";
    await systemWall.sleep(2_000);
    outcome.value = undefined;
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <Icon name={outcome.value === "Copied" ? "check" : "copy"} />
      <span aria-live="polite">{outcome.value ?? label}</span>
    </button>
  );
}
