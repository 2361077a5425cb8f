// Strict decoding: what is accepted becomes the values that were written, defaults filled in; what is not is refused
// with its place, all of it at once.

import Primitives
import Scenarios
import Testing

@Suite struct DecodingTests {
  @Test func smallestScenario_HasEveryDefault() throws {
    let scenario = try load(valid()).variants[0].scenario

    var expected = Scenario()
    expected.name = "test"
    expected.load.concurrency = 2
    expected.load.sessions = 4
    #expect(scenario == expected)
  }

  @Test func contractExample_LoadsWithComments() throws {
    let loaded = try load(
      """
      {
        "$schema": "./scenario.schema.json",
        "name": "quickstart",  // free text
        "seed": 42,
        "endpoint": {
          "mock": { "api": "openai-chat", "tokens": 128, "first_token": "200ms", "interval": "20ms", "faults": [], "processes": 1 },
          /* "url": "https://host" */
        },
        "request": { "model": "m", "prompt": "…", "max_tokens": 128 },
        "load": { "model": "closed", "concurrency": 200, "sessions": 1000, "ramp_up": "2s", "workers": 1 },
        "client": {
          "stack": "curl", "fidelity": "strict", "parser": "whatwg", "decoder": "simdjson", "consumer": "discard", "connections": "reuse",
          "timeouts": { "connect": "10s", "first_event": "60s", "idle": "60s", "total": "300s" },
          "limits": { "line": "16MiB", "event": "16MiB" }, "reconnect": { "policy": "none" },
          "cancel": { "share": 0.0, "after": { "tokens": 50 } },
        },
        "compare": { "client.parser": ["whatwg", "lines"] },
        "measure": { "warm_up": "2s", "repeats": 1, "memory": true, "stall": "1s", "priority": "normal" },
        "slo": { "ttft_ms": 500, "itl_ms": 100, "max_gap_ms": 1000 },
        "gates": [ "ttft_ms.p99 < 400", {"gate": "errors_ratio <= 0.001", "abort_on_fail": true} ],
        "budget": { "requests": 1000, "output_tokens": 200000 },
      }
      """)

    #expect(loaded.variants.map(\.name) == ["whatwg", "lines"])
    #expect(loaded.variants[1].scenario.client.parser == .lines)
    let scenario = loaded.variants[0].scenario
    #expect(scenario.load.rampUp == .seconds(2))
    #expect(scenario.client.cancel == Cancel(share: 0, after: .tokens(50)))
    #expect(
      scenario.gates == [
        Gate(expression: "ttft_ms.p99 < 400"), Gate(expression: "errors_ratio <= 0.001", abortOnFail: true),
      ])
    #expect(scenario.budget.outputTokens == 200_000)
    #expect(scenario.measure.repeats == 1)
  }

  @Test func problemNamesFilePlaceValueAndFix() throws {
    let problem = try #require(
      failure("{\n  \"load\": {\n    \"model\": \"poisson\", \"rate\": 0, \"duration\": \"1s\"\n  }\n}")?
        .problems.first)

    #expect(problem.keyPath == "load.rate")
    #expect(problem.line == 3)
    #expect(
      problem.description
        == #"test.json:3: load.rate: 0 is of the wrong type; expected more than 0 per second, such as "20/s" or "90/min""#
    )
  }

  @Test func everyProblemIsReportedAtOnce() {
    let text = """
      {
        "nam": "x",
        "seed": -1,
        "endpoint": { "mock": { "tokens": "12", "first_token": 200, "faults": [ {"kind": "stal"}, {"kind": "fin", "for": "1s"} ] },
          "headers": {"Authorization": "Bearer ${UNSET_NAME}"} },
        "load": { "model": "poisson", "rate": "0/s", "concurency": 3, "cv": 2, "duration": "5 s" },
        "client": { "parser": "line", "timeouts": { "idle": "-5s" } },
        "until": {"events": 1, "event": "x"},
        "slo": {"ttft_ms": true},
      }
      """

    #expect(
      Set(refused(text)) == [
        "nam", "seed", "endpoint.mock.tokens", "endpoint.mock.first_token", "endpoint.mock.faults.0.kind",
        "endpoint.mock.faults.1.for", "endpoint.headers.Authorization", "load.rate", "load.concurency",
        "load.cv",
        "load.duration", "client.parser", "client.timeouts.idle", "until", "slo.ttft_ms",
      ])
  }

  @Test func unknownKey_IsRefusedWithTheNearestKnownOne() throws {
    let problem = try #require(failure(valid(#""client": {"parsr": "lines"}"#))?.problems.first)

    #expect(problem.keyPath == "client.parsr")
    #expect(problem.suggestion == "Did you mean \"parser\"?")
  }

  @Test(arguments: [
    (#""request": {"max_tokens": 0}"#, "request.max_tokens"),
    (#""request": {"max_tokens": 1.5}"#, "request.max_tokens"),
    (#""request": {"body": {}, "model": "m"}"#, "request.model"),
    (#""measure": {"repeats": 101}"#, "measure.repeats"),
    (#""measure": {"warm_up": "-1s"}"#, "measure.warm_up"),
    (#""name": """#, "name"),
    (#""name": null"#, "name"),
    (#""endpoint": {"url": "ftp://host"}"#, "endpoint.url"),
    (#""endpoint": {"url": "http://host/a b"}"#, "endpoint.url"),
    (#""endpoint": {"url": "http://host", "mock": {}}"#, "endpoint.url"),
    (#""endpoint": {"api": "sse"}"#, "endpoint.api"),
    (#""endpoint": {"url": "http://h", "headers": {"a b": "x"}}"#, "endpoint.headers.a b"),
    (#""endpoint": {"url": "http://h", "headers": {"a": "x\r\nb: c"}}"#, "endpoint.headers.a"),
    (#""endpoint": {"url": "http://h", "tls": {"ca": "/no/such/file"}}"#, "endpoint.tls.ca"),
    (#""endpoint": {"url": "http://h", "resolve": ["h"]}"#, "endpoint.resolve.0"),
    (#""client": {"stack": "raw"}, "endpoint": {"url": "https://h"}"#, "client.stack"),
    (#""client": {"stack": "raw"}, "endpoint": {"url": "http://h", "http": "2"}"#, "client.stack"),
    (#""client": {"stack": "raw"}, "endpoint": {"url": "http://h", "proxy": "http://p"}"#, "client.stack"),
    (
      #""client": {"stack": "raw"}, "endpoint": {"url": "http://h", "headers": {"accept-encoding": "gzip"}}"#,
      "client.stack"
    ),
    (#""client": {"stack": "urlsession"}, "endpoint": {"url": "http://[::1]:80/"}"#, "client.stack"),
    (
      #""client": {"reconnect": {"policy": "restart"}}, "endpoint": {"url": "http://h"}"#,
      "client.reconnect.policy"
    ),
    (#""client": {"parser": "custom"}"#, "client.custom"),
    (
      #""client": {"parser": "custom", "custom": {"record": "\n", "field": "|", "fields": ["id"]}}"#,
      "client.custom.fields"
    ),
    (#""client": {"parser_variant": "pr49"}"#, "client.parser_variant"),
    (#""client": {"read_buffer": "1B"}"#, "client.read_buffer"),
    (#""client": {"consumer": {"slow": "5ms", "leak": {"bytes": 1}}}"#, "client.consumer"),
    (#""client": {"cancel": {"share": 2, "after": {"tokens": 1}}}"#, "client.cancel.share"),
    (#""client": {"cancel": {"share": 1}}"#, "client.cancel.after"),
    (#""until": {"events": 5}"#, "until"),
    (#""verify": {"sequence": {"regex": "("}}"#, "verify.sequence.regex"),
    (#""verify": {"sequence": {"regex": "seq=\\d+"}}"#, "verify.sequence.regex"),
    (#""verify": {"sequence": {"regex": "(a)(b)"}}"#, "verify.sequence.regex"),
    (#""verify": {"sequence": "id", "checksum": {"crc32c": "crc"}}"#, "verify.checksum.of"),
    (#""wukongim": {}"#, "wukongim"),
    (
      #""endpoint": {"mock": {"tokens": {"lognormal": {"median": 9, "p99": 3}}}}"#,
      "endpoint.mock.tokens.lognormal.p99"
    ),
    (#""endpoint": {"mock": {"tokens": {"uniform": [9, 3]}}}"#, "endpoint.mock.tokens.uniform"),
    (#""endpoint": {"mock": {"interval": {"uniform": ["9ms"]}}}"#, "endpoint.mock.interval.uniform"),
    (#""endpoint": {"mock": {"interval": {"trace": "no-such-file"}}}"#, "endpoint.mock.interval.trace"),
    (#""endpoint": {"mock": {"faults": [{"kind": "redirect"}]}}"#, "endpoint.mock.faults.0"),
    (#""endpoint": {"url": "http://127.0.0.1:99999/", "api": "sse"}"#, "endpoint.url"),
    (#""endpoint": {"url": "http://127.0.0.1:0/", "api": "sse"}"#, "endpoint.url"),
    (#""endpoint": {"url": "http://[::1/", "api": "sse"}"#, "endpoint.url"),
    (#""endpoint": {"url": "http:///x", "api": "sse"}"#, "endpoint.url"),
    (#""endpoint": {"mock": {"faults": [{"kind": "length", "by": 0}]}}"#, "endpoint.mock.faults.0.by"),
    (#""endpoint": {"mock": {"faults": [{"at": {"event": 1}}]}}"#, "endpoint.mock.faults.0.kind"),
  ])
  func badValueIsRefusedAtItsKey(_ more: String, _ keyPath: String) {
    #expect(refused(valid(more)) == [keyPath])
  }

  @Test(arguments: [
    (#"{}"#, "load"),
    (#"{"load": {}}"#, "load.sessions"),
    (#"{"load": {"concurrency": 5}}"#, "load.sessions"),
    (#"{"load": {"duration": "5s"}}"#, "load.concurrency"),
    (#"{"load": {"model": "constant", "sessions": 5}}"#, "load.rate"),
    (#"{"load": {"model": "poisson", "rate": "5/s"}}"#, "load.duration"),
    (#"{"load": {"model": "poisson", "rate": "900000000/s", "duration": "1h"}}"#, "load.duration"),
    (#"{"load": {"model": "stages"}}"#, "load.stages"),
    (#"{"load": {"model": "stages", "stages": [{"rate": "0/s", "for": "1s"}]}}"#, "load.stages"),
    (#"{"load": {"model": "burst"}}"#, "load.burst"),
    (#"{"load": {"model": "trace", "trace": {"file": "no-such-file.csv"}}}"#, "load.trace.file"),
    (#"{"load": {"sessions": 5, "rate": "5/s"}}"#, "load.rate"),
    (#"{"load": {"sessions": 2, "workers": 4}}"#, "load.workers"),
    (
      #"{"load": {"model": "search", "sessions": 5, "search": {"key": "concurrency", "from": 1, "to": 9}}}"#,
      "slo"
    ),
  ])
  func loadWithoutWhatItsModelNeedsIsRefused(_ text: String, _ keyPath: String) {
    #expect(refused(text) == [keyPath])
  }

  @Test func distributionsAreReadInTheirOwnersUnit() throws {
    let mock = try load(
      valid(
        #""endpoint": {"mock": {"tokens": {"uniform": [1, 9]}, "first_token": {"lognormal": {"median": "200ms", "p99": "900ms"}}, "interval": {"exponential": {"mean": "20ms"}}}}"#
      )
    ).variants[0].scenario.endpoint.mock

    #expect(mock?.tokens == .uniform(low: 1, high: 9))
    #expect(mock?.firstToken == .lognormal(median: 200e6, p99: 900e6))
    #expect(mock?.interval == .exponential(mean: 20e6))
  }

  @Test func faultsKeepTheirKeys() throws {
    let faults = try load(
      valid(
        #""endpoint": {"mock": {"faults": [{"kind": "stall", "at": {"time": "2s"}, "for": "3s", "comments": true, "sessions": 0.5, "times": "always", "connection": 2, "probability": 0.25}, {"kind": "status", "code": 429, "retry_after": 2, "sessions": [1, 5]}, {"kind": "redirect", "loop": true}]}}"#
      )
    ).variants[0].scenario.endpoint.mock?.faults

    var stall = Fault(kind: .stall)
    stall.at = .time(.seconds(2))
    stall.length = .seconds(3)
    stall.comments = true
    stall.sessions = .share(0.5)
    stall.times = nil
    stall.connection = 2
    stall.probability = 0.25
    var status = Fault(kind: .status)
    status.code = 429
    status.retryAfter = "2"
    status.sessions = .list([1, 5])
    // A loop turns for ever.
    var loop = Fault(kind: .redirect)
    loop.times = nil
    #expect(faults == [stall, status, loop])
  }

  @Test(arguments: [
    (#""url": "wss://h""#, "endpoint.url"), (#""url": "https://h", "proxy": "http://p:1""#, "endpoint.proxy"),
    (#""url": "https://h", "unix_socket": "/s""#, "endpoint.unix_socket"), (#""url": "https://h", "http": "2""#, "endpoint.http"),
  ])
  func wukongimConnectsItself(_ endpoint: String, _ keyPath: String) {
    #expect(refused(#"{"wukongim": {}, "endpoint": {"api": "wukongim", \#(endpoint)}}"#) == [keyPath])
  }

  @Test func documentAsUsed_LoadsToTheSameScenario() throws {
    let texts = [
      valid(), #"{"wukongim": {"readers": 5}}"#,
      valid(
        #""endpoint": {"url": "http://127.0.0.1/x", "headers": {"A": "${TOKEN_A}"}}, "until": {"event": "done"}"#
      ),
      valid(#""compare": {"client.parser": ["whatwg", "lines"], "endpoint.url": ["http://a", "http://b"]}"#),
      #"{"load": {"model": "sweep", "sessions": 5, "sweep": {"key": "concurrency", "values": [1, 2]}}}"#,
      #"{"load": {"model": "gamma", "rate": "20/s", "cv": 2, "duration": "5s"}, "endpoint": {"mock": {"api": "ollama"}}}"#,
    ]
    for text in texts {
      let one = try load(text, environment: ["TOKEN_A": "secret-value"])
      let two = try load(one.document.text(pretty: true), environment: ["TOKEN_A": "secret-value"])

      #expect(one.document == two.document)
      #expect(one.variants.map(\.scenario) == two.variants.map(\.scenario))
    }
  }

  @Test func apiFollowsFromMockAndWorkload() throws {
    #expect(try load(valid(#""endpoint": {"url": "http://h"}"#)).variants[0].scenario.endpoint.api == .sse)
    let ollama = try load(valid(#""endpoint": {"mock": {"api": "ollama"}}"#)).variants[0].scenario
    #expect(ollama.endpoint.api == .ollama)
    #expect(ollama.client.parser == .ndjson)
    #expect(try load(#"{"wukongim": {}}"#).variants[0].scenario.endpoint.mock?.api == .wukongim)
  }

  @Test func slugHoldsOnlyLettersDigitsAndDashes() throws {
    #expect(try load(valid(#""name": "  My 1st run — Ünïcode!  ""#)).slug == "my-1st-run-n-code")
    #expect(try load(valid(#""name": "../../etc""#)).slug == "etc")
    #expect(try load(valid(#""name": "火""#)).slug == "run")
  }
}
