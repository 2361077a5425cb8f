// A checked document becomes a Scenario. What only shows when values are read together (a distribution's parameters, a
// trace's contents) is added to `problems`.

import Primitives

struct ScenarioBuilder {
  let variables: Variables
  /// The scenario's folder; relative paths of traces begin here.
  let folder: String
  let traces: TraceFiles
  private(set) var problems: [ScenarioProblem] = []

  init(variables: Variables, folder: String, traces: TraceFiles) {
    self.variables = variables
    self.folder = folder
    self.traces = traces
  }

  /// The key paths of the result are those of `document`, an object that fits the definition.
  mutating func scenario(_ document: JSONValue) -> Scenario {
    let root = Reading(document, variables: variables)
    var scenario = Scenario()
    scenario.name = root["name"].string ?? scenario.name
    scenario.seed = UInt64(root["seed"].int ?? 42)
    scenario.endpoint = endpoint(root["endpoint"])
    scenario.request = request(root["request"])
    scenario.load = load(root["load"])
    scenario.client = client(root["client"])
    scenario.measure = measure(root["measure"])
    scenario.slo = slo(root["slo"])
    scenario.gates = root["gates"].list.compactMap { gate in
      if let text = gate.string { return Gate(expression: text) }
      return gate["gate"].string.map {
        Gate(expression: $0, abortOnFail: gate["abort_on_fail"].bool ?? false)
      }
    }
    scenario.budget.requests = root["budget"]["requests"].int
    scenario.budget.outputTokens = root["budget"]["output_tokens"].int
    scenario.until = until(root["until"])
    scenario.verify = verify(root["verify"])
    scenario.wukongim = root["wukongim"].exists ? wukongim(root["wukongim"]) : nil
    return scenario
  }

  mutating func refuse(_ place: Reading, _ found: String, _ expected: String, _ suggestion: String = "") {
    problems.append(ScenarioProblem(place.path, found, expected: expected, suggestion: suggestion))
  }

  private mutating func endpoint(_ place: Reading) -> Endpoint {
    var endpoint = Endpoint()
    endpoint.url = place["url"].string
    endpoint.mock = place["mock"].exists ? mock(place["mock"]) : nil
    endpoint.api = place["api"].word() ?? endpoint.mock?.api ?? .sse
    endpoint.headers = place["headers"].pairs.compactMap { pair in pair.value.string.map { (pair.key, $0) } }
    endpoint.http = place["http"].word() ?? .auto
    endpoint.tls.ca = file(place["tls"]["ca"])
    endpoint.tls.cert = file(place["tls"]["cert"])
    endpoint.tls.key = file(place["tls"]["key"])
    endpoint.tls.insecure = place["tls"]["insecure"].bool ?? false
    endpoint.resolve = place["resolve"].list.compactMap(\.string)
    endpoint.proxy = place["proxy"].string
    endpoint.unixSocket = place["unix_socket"].string
    endpoint.waitReady = place["wait_ready"].duration
    endpoint.method = place["method"].string
    for header in place["headers"].pairs {
      if !Self.isHeaderName(header.key) {
        refuse(header.value, "is not a header's name", "letters, digits and -")
      } else if let text = header.value.string,
        text.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 })
      {
        refuse(header.value, "holds a line end", "one line")
      }
    }
    return endpoint
  }

  /// RFC 9110, 5.6.2: a token.
  private static func isHeaderName(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
  }

  private func request(_ place: Reading) -> RequestSettings {
    var request = RequestSettings()
    request.model = place["model"].string ?? request.model
    request.prompt = place["prompt"].string ?? request.prompt
    request.maxTokens = place["max_tokens"].int
    request.body = place["body"].value.map(variables.expand)
    return request
  }

  private mutating func load(_ place: Reading) -> Load {
    var load = Load()
    load.model = place["model"].word() ?? .closed
    load.sessions = place["sessions"].int
    load.concurrency = place["concurrency"].int
    load.duration = place["duration"].duration
    load.rampUp = place["ramp_up"].duration ?? .zero
    load.thinkTime = time(place["think_time"]) ?? load.thinkTime
    load.rate = place["rate"].rate
    load.cv = place["cv"].double ?? 1
    load.stages = place["stages"].list.compactMap { stage in
      guard let rate = stage["rate"].rate, let length = stage["for"].duration else { return nil }
      return Load.Stage(rate: rate, length: length)
    }
    if let sessions = place["burst"]["sessions"].int {
      load.burst = Load.Burst(sessions: sessions, at: place["burst"]["at"].duration ?? .zero)
    }
    load.trace = trace(place["trace"])
    if let key = place["sweep"]["key"].string, let values = place["sweep"]["values"].value?.asArray {
      load.sweep = Load.Sweep(key: key, values: values)
    }
    load.search = search(place["search"])
    load.maxLive = place["max_live"].int
    load.beyond = place["beyond"].word() ?? .queue
    load.drain = place["drain"].duration ?? load.drain
    load.workers = place["workers"].int ?? 1
    return load
  }

  private mutating func trace(_ place: Reading) -> Load.TraceFile? {
    guard let file = place["file"].string else { return nil }
    let format: TraceFormat = place["format"].word() ?? .csv
    do throws(TraceProblem) {
      let arrivals = try traces.arrivals(absolute(file), format: format)
      return Load.TraceFile(file: file, format: format, speed: place["speed"].double ?? 1, arrivals: arrivals)
    } catch {
      refuse(place["file"], "\"\(place["file"].value?.asString ?? "")\": \(error.found)", error.expected)
      return nil
    }
  }

  private mutating func search(_ place: Reading) -> Load.Search? {
    func bound(_ place: Reading) -> Double? { place.double ?? place.rate }
    guard let key = place["key"].string, let from = bound(place["from"]), let to = bound(place["to"]) else {
      return nil
    }
    if from >= to { refuse(place["to"], "is not above from", "a load above \(JSONValue.numberText(from))") }
    return Load.Search(key: key, from: from, to: to, tolerance: bound(place["tolerance"]) ?? 1)
  }

  private func measure(_ place: Reading) -> Measure {
    var measure = Measure()
    measure.warmUp = place["warm_up"].duration ?? .zero
    measure.repeats = place["repeats"].int ?? 1
    measure.memory = place["memory"].bool ?? false
    measure.stall = place["stall"].duration ?? measure.stall
    measure.priority = place["priority"].word() ?? .normal
    return measure
  }

  private func slo(_ place: Reading) -> SLO {
    var slo = SLO()
    slo.ttft = place["ttft_ms"].double
    slo.itl = place["itl_ms"].double
    slo.maxGap = place["max_gap_ms"].double
    slo.tpot = place["tpot_ms"].double
    slo.e2e = place["e2e_ms"].double
    return slo
  }

  private func until(_ place: Reading) -> Until? {
    if let events = place["events"].int { return .events(events) }
    if let event = place["event"].string { return .event(event) }
    if let data = place["data"].string { return .data(data) }
    return place["duration"].duration.map { .duration($0) }
  }

  private mutating func verify(_ place: Reading) -> Verify? {
    let sequence = place["sequence"]
    let first = place["first"].int.map(Int64.init)
    let expected = place["expected"].int.map(Int64.init)
    var checksum: Verify.Checksum?
    if let crc = place["checksum"]["crc32c"].string, let text = place["checksum"]["of"].string {
      checksum = Verify.Checksum(crc32c: crc, of: text)
    }
    if sequence.string == "id" { return Verify(sequence: .id, first: first, expected: expected, checksum: checksum) }
    if let path = sequence["json"].string {
      return Verify(sequence: .json(path), first: first, expected: expected, checksum: checksum)
    }
    guard let pattern = sequence["regex"].string else { return nil }
    if !Self.hasOneGroup(pattern) {
      refuse(
        sequence["regex"], "is not a regular expression with one group",
        #"an expression such as "seq=(\\d+)""#)
      return nil
    }
    return Verify(sequence: .regex(pattern), first: first, expected: expected, checksum: checksum)
  }

  /// Whether a pattern is a regular expression with exactly one group that captures.
  private static func hasOneGroup(_ pattern: String) -> Bool {
    // With an empty alternative it matches the empty text, and the match says how many groups there are.
    guard (try? Regex(pattern)) != nil, let regex = try? Regex("(?:\(pattern))|"),
      let match = try? regex.prefixMatch(in: "")
    else { return false }
    return match.output.count == 2
  }

  private mutating func wukongim(_ place: Reading) -> WuKongIMLoad {
    var load = WuKongIMLoad()
    load.channels = place["channels"].int ?? load.channels
    load.channelType = place["channel_type"].int ?? load.channelType
    load.readers = place["readers"].int ?? load.readers
    load.producers = place["producers"].int ?? load.producers
    load.replies = place["replies"].int ?? load.replies
    load.deltas = place["deltas"].int ?? load.deltas
    load.deltaUnits = count(place["delta_units"]) ?? load.deltaUnits
    load.interval = time(place["interval"]) ?? load.interval
    load.killTimes = place["kill"]["times"].int ?? 0
    load.rules = place["rules"].word() ?? .normative
    return load
  }

  /// A duration or a distribution of durations, in nanoseconds.
  mutating func time(_ place: Reading) -> Distribution? {
    distribution(place, unit: .time) { $0.duration.map { Double($0.value) } }
  }

  /// A number or a distribution of numbers.
  mutating func count(_ place: Reading) -> Distribution? { distribution(place, unit: .count) { $0.double } }

  private mutating func distribution(
    _ place: Reading, unit: TraceFiles.Unit, _ number: (Reading) -> Double?
  ) -> Distribution? {
    if let value = number(place) { return .constant(value) }
    if let median = number(place["lognormal"]["median"]), let p99 = number(place["lognormal"]["p99"]) {
      if p99 < median {
        refuse(place["lognormal"]["p99"], "is below the median", "a value that 99 of 100 values are below")
      }
      return .lognormal(median: median, p99: max(p99, median))
    }
    let ends = place["uniform"].list.compactMap(number)
    if ends.count == 2 {
      if ends[0] > ends[1] { refuse(place["uniform"], "the first value is above the second", "[low, high]") }
      return .uniform(low: min(ends[0], ends[1]), high: ends[1])
    }
    if let mean = number(place["exponential"]["mean"]) { return .exponential(mean: mean) }
    guard let file = place["trace"].string else { return nil }
    do throws(TraceProblem) {
      let path = absolute(file)
      return .trace(file: path, values: try traces.values(path, unit: unit))
    } catch {
      refuse(place["trace"], "\"\(place["trace"].value?.asString ?? "")\": \(error.found)", error.expected)
      return nil
    }
  }

  /// A file that the run will read: its absolute path. It must be there.
  mutating func file(_ place: Reading) -> String? {
    guard let name = place.string else { return nil }
    let path = absolute(name)
    if let failure = BoundedFile.check(path) {
      refuse(place, "\"\(place.value?.asString ?? "")\": \(failure.message)", "a readable file")
    }
    return path
  }

  private func absolute(_ file: String) -> String {
    if file.hasPrefix("/") { return file }
    return folder.hasPrefix("/")
      ? "\(folder)/\(file)" : BoundedFile.currentFolder + (folder.isEmpty ? "/\(file)" : "/\(folder)/\(file)")
  }
}
