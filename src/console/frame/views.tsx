import type { ComponentChildren } from "preact";
import { ContractList } from "../contracts/contract-list.tsx";
import { ContractPage } from "../contracts/contract-page.tsx";
import { DeliveryList } from "../deliveries/delivery-list.tsx";
import { DeliveryPage } from "../deliveries/delivery-page.tsx";
import { Devices } from "../devices/devices.tsx";
import { Emails } from "../emails/emails.tsx";
import { Faults } from "../faults/faults.tsx";
import { Empty, Head } from "../parts/messages.tsx";
import { RequestList } from "../requests/request-list.tsx";
import { RequestPage } from "../requests/request-page.tsx";
import { Routing } from "../routing/routing.tsx";
import { Snapshots } from "../snapshots/snapshots.tsx";
import { Timeline } from "../timeline/timeline.tsx";
import { Webhooks } from "../webhooks/webhooks.tsx";
import { Workspaces } from "../workspaces/workspaces.tsx";
import { SearchResults } from "./search.tsx";

interface View {
  /** The first segment of the view's address. */
  readonly path: string;
  readonly title: string;
  readonly draw: (id: string | undefined) => ComponentChildren;
}

/** The views in the order of the navigation. */
export const views: readonly View[] = [
  { path: "timeline", title: "Timeline", draw: (id) => <Timeline only={id} /> },
  { path: "webhooks", title: "Webhooks", draw: (id) => <Webhooks id={id} /> },
  {
    path: "contracts",
    title: "Contracts",
    draw: (id) => (id === undefined ? <ContractList /> : <ContractPage id={id} />),
  },
  {
    path: "deliveries",
    title: "Deliveries",
    draw: (id) => (id === undefined ? <DeliveryList /> : <DeliveryPage id={id} />),
  },
  { path: "requests", title: "Requests", draw: (id) => (id === undefined ? <RequestList /> : <RequestPage id={id} />) },
  { path: "emails", title: "E-mails", draw: (id) => <Emails about={id} /> },
  { path: "workspaces", title: "Workspaces", draw: (id) => <Workspaces id={id} /> },
  { path: "routing", title: "Routing", draw: (id) => <Routing identifier={id} /> },
  { path: "devices", title: "Devices", draw: (id) => <Devices code={id} /> },
  { path: "faults", title: "Faults", draw: (id) => <Faults id={id} /> },
  { path: "snapshots", title: "Snapshots", draw: (id) => <Snapshots name={id} /> },
];

const missingView: View = {
  path: "",
  title: "Not found",
  draw: () => (
    <>
      <Head title="Not found" />
      <Empty title="This page does not exist">
        <a href="#/">Go to the timeline</a>
      </Empty>
    </>
  ),
};

const searchView: View = { path: "search", title: "Search", draw: (text) => <SearchResults text={text ?? ""} /> };

export const findView = (path: string): View =>
  path === "" ? views[0]! : ([...views, searchView].find((view) => view.path === path) ?? missingView);
