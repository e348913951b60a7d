/** Fields that complete a trial signup, in addition to its token and the cluster. */
export const trialSignupFields = {
  first_name: "Zoe",
  last_name: "Park",
  job_title: "General Counsel",
  company_name: "Newco",
  industry: "Software",
  use_case: "Sales contracts",
};
