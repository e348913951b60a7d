import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { formatElapsed, type Tone } from "../format.ts";
import { Action, Command } from "../parts/action.tsx";
import { Empty, Head, markChosen, NotListedMessage, ProblemMessage, State, VirtualTime } from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import { nowSeconds } from "../state/clock.ts";

type Device = OperationResult<"device-grants.list">[number];

/** Lists devices that wait for approval, with buttons to decide. */
export function Devices({ code }: { readonly code: string | undefined }) {
  const { value: devices, problem } = useLoaded("", ["devices"], () => callOperation("device-grants.list"));
  const isMissing = code !== undefined && devices?.every(({ user_code }) => user_code !== code);
  return (
    <>
      <Head title="Devices" about="Programs that wait for approval of a code. Times are virtual." />
      {problem && <ProblemMessage problem={problem} />}
      {isMissing && <NotListedMessage subject={`device with the code ${code}`} all="devices" />}
      {devices?.length === 0 && !isMissing && (
        <Empty title="No devices are waiting">
          <p>Start a device login on this machine:</p>
          <Command text="svc auth device-login --client-id demo-cli" />
        </Empty>
      )}
      <ul class="cards">
        {devices?.map((device) => (
          <DeviceRow key={device.user_code} {...device} isChosen={device.user_code === code} />
        ))}
      </ul>
    </>
  );
}

function DeviceRow(props: Device & { readonly isChosen: boolean }) {
  const { user_code, client_id, status, cluster_id, expires_at, redeemed } = props;
  const left = Date.parse(expires_at) - nowSeconds.value;
  const isOpen = status === "PENDING" && left > 0;
  const [tone, words] = describeState(status, left, redeemed);
  const params = { user_code };
  return (
    <li {...markChosen(props.isChosen)}>
      <div class="who">
        <strong class="number">{user_code}</strong>
        <span class="muted">
          {client_id}
          {cluster_id && ` · ${cluster_id}`} ·{" "}
          {isOpen ? `expires in ${formatElapsed(left)}, at ` : `${left > 0 ? "expires" : "expired"} at `}
          <VirtualTime at={expires_at} />
        </span>
        <State tone={tone}>{words}</State>
      </div>
      {isOpen && (
        <div class="actions">
          <Action
            op="device-grants.approve"
            input={{ params, body: { status: "AUTHORIZED" } }}
            command={`svc emulator device approve ${user_code}`}
            kind="primary"
            name={`Approve ${user_code}`}
            describe={(answer) => `${user_code} approved in ${answer.cluster_id}`}
          >
            Approve
          </Action>
          <Action
            op="device-grants.approve"
            input={{ params, body: { status: "DENIED" } }}
            command={`svc emulator device deny ${user_code}`}
            kind="danger"
            name={`Deny ${user_code}`}
            describe={() => `${user_code} is denied`}
          >
            Deny
          </Action>
        </div>
      )}
    </li>
  );
}

function describeState(status: Device["status"], left: number, redeemed: boolean): [Tone, string] {
  if (status === "DENIED") return ["bad", "denied"];
  if (status === "AUTHORIZED") return redeemed ? ["good", "signed in"] : ["good", "approved"];
  return left > 0 ? ["open", "waiting"] : ["none", "expired"];
}
