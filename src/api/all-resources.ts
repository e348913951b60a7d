import * as contractsApprovals from "./contracts/approvals.ts";
import * as contractsContractDetails from "./contracts/contract-details.ts";
import * as contractsContractList from "./contracts/contract-list.ts";
import * as contractsContracts from "./contracts/contracts.ts";
import * as contractsCounterparties from "./contracts/counterparties.ts";
import * as contractsCounterpartyContacts from "./contracts/counterparty-contacts.ts";
import * as contractsDocuments from "./contracts/documents.ts";
import * as contractsExecution from "./contracts/execution.ts";
import * as contractsFiles from "./contracts/files.ts";
import * as contractsIntake from "./contracts/intake.ts";
import * as contractsKeyPointers from "./contracts/key-pointers.ts";
import * as contractsPaper from "./contracts/paper.ts";
import * as contractsTemplates from "./contracts/templates.ts";
import * as contractsWebhooks from "./contracts/webhooks.ts";
import * as contractsUsers from "./contracts/workspace.ts";
import * as emulatorActivities from "./emulator/activities.ts";
import * as emulatorChatB from "./emulator/chat-b.ts";
import * as emulatorClock from "./emulator/clock.ts";
import * as emulatorClusters from "./emulator/clusters.ts";
import * as emulatorSessions from "./emulator/console.ts";
import * as emulatorContracts from "./emulator/contracts.ts";
import * as emulatorDeliveries from "./emulator/deliveries.ts";
import * as emulatorDeviceGrants from "./emulator/device-grants.ts";
import * as emulatorEmails from "./emulator/emails.ts";
import * as emulatorFaults from "./emulator/faults.ts";
import * as emulatorInstallations from "./emulator/installations.ts";
import * as emulatorInvitations from "./emulator/invitations.ts";
import * as emulatorLifecycle from "./emulator/lifecycle.ts";
import * as emulatorOwners from "./emulator/owners.ts";
import * as emulatorRequests from "./emulator/requests.ts";
import * as emulatorSnapshots from "./emulator/snapshots.ts";
import * as emulatorState from "./emulator/state.ts";
import * as emulatorTokens from "./emulator/tokens.ts";
import * as emulatorTraces from "./emulator/traces.ts";
import * as emulatorUserTasks from "./emulator/user-tasks.ts";
import * as emulatorWait from "./emulator/wait.ts";
import * as emulatorWebhooks from "./emulator/webhooks.ts";
import type { ResourceName, resources } from "./resources.ts";
import * as routerBilling from "./router/billing.ts";
import * as routerChatA from "./router/chat.ts";
import * as routerClusters from "./router/clusters.ts";
import * as routerCrmA from "./router/crm.ts";
import * as routerDeviceGrant from "./router/device-grant.ts";
import * as routerMailer from "./router/mailer.ts";
import * as routerMappingTables from "./router/mapping-tables.ts";
import * as routerOidc from "./router/oidc.ts";
import * as routerProxied from "./router/proxied.ts";
import * as routerTrial from "./router/trial.ts";
import * as storageObjects from "./storage.ts";

/**
 * The modules of all resources, in the order of resources.ts. They are loaded in advance because a CommonJS program
 * cannot wait during loading. A program with all of them does not import the loaders, for which the build would make a
 * file of each module.
 */
export const allResources: { readonly [Name in ResourceName]: Awaited<ReturnType<(typeof resources)[Name]>> } = {
  "router/chat-a": routerChatA,
  "router/mapping-tables": routerMappingTables,
  "router/clusters": routerClusters,
  "router/trial": routerTrial,
  "router/mailer": routerMailer,
  "router/crm-a": routerCrmA,
  "router/device-grant": routerDeviceGrant,
  "router/billing": routerBilling,
  "router/proxied": routerProxied,
  "router/oidc": routerOidc,
  "contracts/files": contractsFiles,
  "contracts/intake": contractsIntake,
  "contracts/contracts": contractsContracts,
  "contracts/contract-list": contractsContractList,
  "contracts/execution": contractsExecution,
  "contracts/documents": contractsDocuments,
  "contracts/contract-details": contractsContractDetails,
  "contracts/paper": contractsPaper,
  "contracts/webhooks": contractsWebhooks,
  "contracts/counterparties": contractsCounterparties,
  "contracts/counterparty-contacts": contractsCounterpartyContacts,
  "contracts/templates": contractsTemplates,
  "contracts/users": contractsUsers,
  "contracts/key-pointers": contractsKeyPointers,
  "contracts/approvals": contractsApprovals,
  "storage/objects": storageObjects,
  "emulator/lifecycle": emulatorLifecycle,
  "emulator/clock": emulatorClock,
  "emulator/webhooks": emulatorWebhooks,
  "emulator/deliveries": emulatorDeliveries,
  "emulator/contracts": emulatorContracts,
  "emulator/activities": emulatorActivities,
  "emulator/device-grants": emulatorDeviceGrants,
  "emulator/installations": emulatorInstallations,
  "emulator/clusters": emulatorClusters,
  "emulator/state": emulatorState,
  "emulator/snapshots": emulatorSnapshots,
  "emulator/requests": emulatorRequests,
  "emulator/chat-b": emulatorChatB,
  "emulator/owners": emulatorOwners,
  "emulator/faults": emulatorFaults,
  "emulator/wait": emulatorWait,
  "emulator/emails": emulatorEmails,
  "emulator/invitations": emulatorInvitations,
  "emulator/user-tasks": emulatorUserTasks,
  "emulator/traces": emulatorTraces,
  "emulator/sessions": emulatorSessions,
  "emulator/tokens": emulatorTokens,
};
