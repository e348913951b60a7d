import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The calls to the contract API that every generator's program makes, with the client of openapi-generator. */
public class Journey {
  private static final ObjectMapper JSON = contracts.ApiClient.createDefaultObjectMapper();

  public static void main(String[] arguments) throws Exception {
    var there = new contracts.ApiClient();
    there.updateBaseUri(System.getenv("CONTRACTS_URL"));
    there.setRequestInterceptor(request -> request
        .header("client-id", System.getenv("CLIENT_ID"))
        .header("client-secret", System.getenv("CLIENT_SECRET")));
    var api = new contracts.api.ContractsApi(there);

    Map<String, Object> told = new LinkedHashMap<>();
    var body = JSON.readValue(System.getenv("CONTRACT"), contracts.model.CreateContractRequest.class);
    var created = api.contractsCreate(body, null).getId();
    told.put("created", api.contractsStatus(created, null, null).getContractStatus());
    told.put("recipients", api.contractsRecipients(created, null).getItems().stream()
        .map(one -> one.getRecipient().getUser().getEmail()).toList());
    try {
      api.contractsStatus("T-999", null, null);
    } catch (contracts.ApiException error) {
      told.put("refused", List.of(error.getCode(), detailOf(error.getResponseBody())));
    }
    System.out.println(JSON.writeValueAsString(told));
  }

  private static String detailOf(String body) throws Exception {
    return JSON.readValue(body, contracts.model.Detail.class).getDetail();
  }
}
