import com.google.gson.Gson;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** The calls to the routing service that every generator's program makes, with the client of openapi-generator: Java 8. */
public class Routing {
  public static void main(String[] arguments) throws Exception {
    router.ApiClient here = new router.ApiClient();
    here.setBasePath(System.getenv("ROUTER_URL"));

    Map<String, Object> told = new LinkedHashMap<>();
    told.put("clusters", new router.api.ClustersApi(here).clustersList().stream()
        .map(router.model.ClusterInfoDomain::getClusterId).collect(Collectors.toList()));
    try {
      new router.api.ClusterEmailsApi(here).clusterEmailsShow("nobody");
    } catch (router.ApiException error) {
      String why = router.model.Detail.fromJson(error.getResponseBody()).getDetail();
      told.put("unmapped", Arrays.asList(error.getCode(), why));
    }
    System.out.println(new Gson().toJson(told));
  }
}
