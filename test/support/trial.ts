/** What is answered to complete a trial signup, beside its token and the cluster. */
export const trialAnswers = {
  first_name: "Zoe",
  last_name: "Park",
  job_title: "General Counsel",
  company_name: "Newco",
  industry: "Software",
  use_case: "Sales contracts",
};
