import * as contractsApprovals from "./contracts/approvals.ts";
import * as contractsComments from "./contracts/comments.ts";
import * as contractsContractDetails from "./contracts/contract-details.ts";
import * as contractsContractList from "./contracts/contract-list.ts";
import * as contractsContractTypes from "./contracts/contract-types.ts";
import * as contractsContracts from "./contracts/contracts.ts";
import * as contractsCounterparties from "./contracts/counterparties.ts";
import * as contractsCounterpartyAddresses from "./contracts/counterparty-addresses.ts";
import * as contractsCounterpartyContacts from "./contracts/counterparty-contacts.ts";
import * as contractsDocuments from "./contracts/documents.ts";
import * as contractsExecuted from "./contracts/executed.ts";
import * as contractsExecution from "./contracts/execution.ts";
import * as contractsExternalMetadata from "./contracts/external-metadata.ts";
import * as contractsFiles from "./contracts/files.ts";
import * as contractsIntake from "./contracts/intake.ts";
import * as contractsIntakeForm from "./contracts/intake-form.ts";
import * as contractsKeyPointers from "./contracts/key-pointers.ts";
import * as contractsOrganizations from "./contracts/organizations.ts";
import * as contractsPaper from "./contracts/paper.ts";
import * as contractsTemplates from "./contracts/templates.ts";
import * as contractsUserTasks from "./contracts/user-tasks.ts";
import * as contractsUsers from "./contracts/users.ts";
import * as contractsWebhooks from "./contracts/webhooks.ts";
import * as emulatorActivities from "./emulator/activities.ts";
import * as emulatorChatB from "./emulator/chat-b.ts";
import * as emulatorClock from "./emulator/clock.ts";
import * as emulatorClusters from "./emulator/clusters.ts";
import * as emulatorEvents from "./emulator/console/events.ts";
import * as emulatorConsole from "./emulator/console/page.ts";
import * as emulatorSessions from "./emulator/console/sessions.ts";
import * as emulatorContractDetails from "./emulator/contracts/contract-details.ts";
import * as emulatorContracts from "./emulator/contracts/contracts.ts";
import * as emulatorDeliveries from "./emulator/deliveries.ts";
import * as emulatorDeviceGrants from "./emulator/device-grants.ts";
import * as emulatorEmails from "./emulator/emails.ts";
import * as emulatorFaults from "./emulator/faults.ts";
import * as emulatorInbox from "./emulator/inbox.ts";
import * as emulatorInstallations from "./emulator/installations.ts";
import * as emulatorInvitations from "./emulator/invitations.ts";
import * as emulatorLifecycle from "./emulator/lifecycle.ts";
import * as emulatorOpenapi from "./emulator/openapi.ts";
import * as emulatorOwnerMoves from "./emulator/owner-moves.ts";
import * as emulatorOwners from "./emulator/owners.ts";
import * as emulatorProvider from "./emulator/provider.ts";
import * as emulatorRequests from "./emulator/requests.ts";
import * as emulatorSnapshots from "./emulator/state/snapshots.ts";
import * as emulatorState from "./emulator/state/state.ts";
import * as emulatorTokens from "./emulator/tokens.ts";
import * as emulatorTraces from "./emulator/traces.ts";
import * as emulatorTrials from "./emulator/trials.ts";
import * as emulatorUserTasks from "./emulator/user-tasks.ts";
import * as emulatorWait from "./emulator/wait.ts";
import * as emulatorWebhooks from "./emulator/webhooks.ts";
import type { ResourceName, resources } from "./resources.ts";
import * as routerBilling from "./router/billing.ts";
import * as routerCatchAll from "./router/catch-all.ts";
import * as routerChatA from "./router/chat-a.ts";
import * as routerChatATeams from "./router/chat-a-teams.ts";
import * as routerChatB from "./router/chat-b.ts";
import * as routerClusterClients from "./router/cluster-clients.ts";
import * as routerClusterEmails from "./router/cluster-emails.ts";
import * as routerClusters from "./router/clusters.ts";
import * as routerCrmA from "./router/crm-a.ts";
import * as routerCrmB from "./router/crm-b.ts";
import * as routerDeviceGrant from "./router/device-grant.ts";
import * as routerExternalIntegrations from "./router/external-integrations.ts";
import * as routerExternalOauth from "./router/external-oauth.ts";
import * as routerHealth from "./router/health.ts";
import * as routerInviteTokens from "./router/invite-tokens.ts";
import * as routerMailer from "./router/mailer.ts";
import * as routerOidc from "./router/oidc.ts";
import * as routerProxied from "./router/proxied.ts";
import * as routerSignatories from "./router/signatories.ts";
import * as routerTrial from "./router/trial.ts";
import * as storageObjects from "./storage/objects.ts";

type Declared = { readonly [Name in ResourceName]: Awaited<ReturnType<(typeof resources)[Name]>> };

/**
 * Every resource's module, there at once: what loads all of them must not wait for it, since a CommonJS program cannot
 * wait while it loads. The compiler refuses one that resources.ts names otherwise or not at all.
 */
export const allResources: Declared = {
  "router/health": routerHealth,
  "router/chat-a": routerChatA,
  "router/chat-b": routerChatB,
  "router/cluster-emails": routerClusterEmails,
  "router/cluster-clients": routerClusterClients,
  "router/invite-tokens": routerInviteTokens,
  "router/chat-a-teams": routerChatATeams,
  "router/external-integrations": routerExternalIntegrations,
  "router/clusters": routerClusters,
  "router/trial": routerTrial,
  "router/mailer": routerMailer,
  "router/crm-a": routerCrmA,
  "router/crm-b": routerCrmB,
  "router/external-oauth": routerExternalOauth,
  "router/device-grant": routerDeviceGrant,
  "router/billing": routerBilling,
  "router/signatories": routerSignatories,
  "router/proxied": routerProxied,
  "router/oidc": routerOidc,
  "router/catch-all": routerCatchAll,
  "contracts/files": contractsFiles,
  "contracts/intake": contractsIntake,
  "contracts/contracts": contractsContracts,
  "contracts/contract-list": contractsContractList,
  "contracts/execution": contractsExecution,
  "contracts/documents": contractsDocuments,
  "contracts/contract-details": contractsContractDetails,
  "contracts/executed": contractsExecuted,
  "contracts/paper": contractsPaper,
  "contracts/intake-form": contractsIntakeForm,
  "contracts/external-metadata": contractsExternalMetadata,
  "contracts/webhooks": contractsWebhooks,
  "contracts/counterparties": contractsCounterparties,
  "contracts/counterparty-contacts": contractsCounterpartyContacts,
  "contracts/counterparty-addresses": contractsCounterpartyAddresses,
  "contracts/templates": contractsTemplates,
  "contracts/contract-types": contractsContractTypes,
  "contracts/organizations": contractsOrganizations,
  "contracts/users": contractsUsers,
  "contracts/user-tasks": contractsUserTasks,
  "contracts/key-pointers": contractsKeyPointers,
  "contracts/comments": contractsComments,
  "contracts/approvals": contractsApprovals,
  "storage/objects": storageObjects,
  "emulator/openapi": emulatorOpenapi,
  "emulator/lifecycle": emulatorLifecycle,
  "emulator/clock": emulatorClock,
  "emulator/webhooks": emulatorWebhooks,
  "emulator/deliveries": emulatorDeliveries,
  "emulator/contracts": emulatorContracts,
  "emulator/owner-moves": emulatorOwnerMoves,
  "emulator/activities": emulatorActivities,
  "emulator/device-grants": emulatorDeviceGrants,
  "emulator/provider": emulatorProvider,
  "emulator/installations": emulatorInstallations,
  "emulator/clusters": emulatorClusters,
  "emulator/state": emulatorState,
  "emulator/snapshots": emulatorSnapshots,
  "emulator/requests": emulatorRequests,
  "emulator/chat-b": emulatorChatB,
  "emulator/owners": emulatorOwners,
  "emulator/faults": emulatorFaults,
  "emulator/wait": emulatorWait,
  "emulator/contract-details": emulatorContractDetails,
  "emulator/emails": emulatorEmails,
  "emulator/invitations": emulatorInvitations,
  "emulator/user-tasks": emulatorUserTasks,
  "emulator/trials": emulatorTrials,
  "emulator/traces": emulatorTraces,
  "emulator/inbox": emulatorInbox,
  "emulator/console": emulatorConsole,
  "emulator/events": emulatorEvents,
  "emulator/sessions": emulatorSessions,
  "emulator/tokens": emulatorTokens,
};
