// `compare`, `sweep` and `search`: one scenario for each combination and each load, every one as checked as the first.

import Primitives
import Scenarios
import Testing

@Suite struct VariantTests {
  @Test func crossProductKeepsTheOrderOfTheKeys() throws {
    let loaded = try load(
      valid(#""compare": {"client.parser": ["whatwg", "lines"], "request.max_tokens": [5, 6]}"#))

    #expect(loaded.variants.map(\.name) == ["whatwg+5", "whatwg+6", "lines+5", "lines+6"])
    #expect(loaded.variants.map(\.scenario.request.maxTokens) == [5, 6, 5, 6])
    #expect(loaded.variants[2].changes == json(#"{"client.parser": "lines", "request.max_tokens": 5}"#))
    #expect(loaded.variants[0].scenario.measure.repeats == 3)
  }

  @Test func urlsCanBeCompared() throws {
    let loaded = try load(valid(#""compare": {"endpoint.url": ["http://a/", "http://b/"]}"#))

    #expect(loaded.variants.map(\.scenario.endpoint.url) == ["http://a/", "http://b/"])
    #expect(loaded.variants.allSatisfy { $0.scenario.endpoint.mock == nil })
  }

  @Test func variantThatIsNotValid_IsNamed() throws {
    let problems = try #require(failure(valid(#""compare": {"client.parser": ["whatwg", "custom"]}"#)))
      .problems

    #expect(problems.map(\.keyPath) == ["client.custom"])
    #expect(problems[0].suggestion.contains("In the variant 'custom'"))
  }

  @Test(arguments: [
    (#"{"client.parsr": ["a"]}"#, "compare.client.parsr"),
    (#"{"client.parser": []}"#, "compare.client.parser"),
    (#"{"client.parser": "lines"}"#, "compare.client.parser"),
    (#"{"name": ["a", "b"]}"#, "compare.name"),
    (#"{"measure.repeats": [1, 2]}"#, "compare.measure.repeats"),
    (#"{"client.parser": ["lines", "lines"]}"#, "compare"),
  ])
  func wrongComparisonIsRefused(_ compare: String, _ keyPath: String) {
    #expect(refused(valid("\"compare\": \(compare)")) == [keyPath])
  }

  @Test func productBeyondAThousandIsRefused() {
    let many = (0..<40).map(String.init).joined(separator: ",")

    #expect(
      refused(valid("\"compare\": {\"seed\": [\(many)], \"request.max_tokens\": [1,\(many.dropFirst(2))]}"))
        == ["compare"])
  }

  @Test func modelsCanBeComparedWithTheKeysOfEach() throws {
    let loaded = try load(
      #"{"load": {"duration": "5s", "rate": "20/s", "cv": 2}, "compare": {"load.model": ["constant", "gamma"]}}"#
    )

    #expect(loaded.variants.map(\.scenario.load.model) == [.constant, .gamma])
    #expect(loaded.variants.map(\.scenario.load.cv) == [1, 2])
  }

  @Test func sweepHasAPointForEachValue() throws {
    let rate = try load(
      #"{"load": {"model": "sweep", "duration": "5s", "sweep": {"key": "rate", "values": [10, "120/min"]}}}"#
    ).variants[0]
    let live = try load(
      #"{"load": {"model": "sweep", "sessions": 50, "sweep": {"key": "load.concurrency", "values": [1, 5]}}}"#
    ).variants[0]

    #expect(rate.points.map(\.scenario.load.rate) == [10, 2])
    #expect(rate.points.allSatisfy { $0.scenario.load.model == .poisson && $0.key == "load.rate" })
    #expect(live.points.map(\.scenario.load.concurrency) == [1, 5])
    #expect(live.points.allSatisfy { $0.scenario.load.model == .closed })
  }

  @Test func everyPointOfASweepIsChecked() {
    #expect(
      refused(
        #"{"load": {"model": "sweep", "duration": "5s", "sweep": {"key": "rate", "values": [10, -1]}}}"#) == [
          "load.rate"
        ])
    #expect(
      refused(#"{"load": {"model": "sweep", "duration": "5s", "sweep": {"key": "rat", "values": [10]}}}"#)
        == ["load.sweep.key"])
    #expect(
      refused(#"{"load": {"model": "sweep", "sweep": {"key": "rate", "values": [10]}}}"#) == ["load.duration"]
    )
  }

  @Test func searchMakesAnyPoint() throws {
    let text =
      #"{"slo": {"ttft_ms": 500}, "load": {"model": "search", "duration": "5s", "search": {"key": "rate", "from": "10/s", "to": 200, "tolerance": 5}}}"#
    let loaded = try load(text)

    let point = try loaded.point(of: loaded.variants[0], at: 42.5)

    #expect(
      loaded.variants[0].scenario.load.search == Load.Search(key: "rate", from: 10, to: 200, tolerance: 5))
    #expect(point.scenario.load.rate == 42.5)
    #expect(point.scenario.load.model == .poisson)
  }

  @Test func searchOverSomethingWithoutANumberIsRefused() {
    #expect(
      refused(
        #"{"slo": {"ttft_ms": 5}, "load": {"model": "search", "sessions": 5, "search": {"key": "client.parser", "from": 1, "to": 2}}}"#
      ) == ["load.search.key"])
    #expect(
      refused(
        #"{"slo": {"ttft_ms": 5}, "load": {"model": "search", "sessions": 5, "search": {"key": "concurrency", "from": 5, "to": 2}}}"#
      ) == ["load.search.to"])
  }
}
