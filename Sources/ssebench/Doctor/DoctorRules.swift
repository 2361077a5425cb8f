// Readings and needs become findings: what is well, what to know, and what would make the scenario fail. Pure.

import Foundation

package enum DoctorRules {
  /// Descriptors of a process beside those of its sessions.
  static let ownDescriptors = 64
  /// Client and mock memory of one session, in bytes, rounded up from what was measured: libcurl over plain HTTP/1.1,
  /// with TLS, and the raw stack.
  static let sessionBytes = (curl: 20_000, tls: 80_000, raw: 2_000)
  /// CPU seconds of the client for one event that comes alone, about.
  static let eventCost = (curl: 10e-6, raw: 5e-6)

  package static func findings(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> [Finding] {
    [
      descriptors(machine, needs), ports(machine, needs), backlog(machine, needs), cores(machine), rate(machine, needs),
      governor(machine), steal(machine), load(machine), clock(machine), mtu(machine), memory(machine, needs),
      disk(machine), curl(machine, needs), jemalloc(machine, needs), realtime(machine, needs), build(machine),
      fit(machine, needs),
    ].compactMap { $0 }
  }

  private static func descriptors(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding {
    let limits = "soft \(machine.softDescriptors), hard \(machine.hardDescriptors); a run raises the soft limit by itself"
    let remedy = "raise the hard limit (`ulimit -Hn`, LimitNOFILE, docker run --ulimit nofile=…)"
    if let sessions = needs?.sessions, sessions > 0 {
      let share = (sessions + (needs?.workers ?? 1) - 1) / max(1, needs?.workers ?? 1)
      let wanted = share + ownDescriptors
      if wanted > machine.hardDescriptors {
        return Finding(
          "descriptors", .problem, "\(share) live sessions in one process need \(wanted) descriptors: \(limits).",
          remedy: remedy + ", lower the concurrency, or share the load out with load.workers")
      }
      if needs?.usesMock == true, sessions + ownDescriptors > machine.hardDescriptors {
        return Finding(
          "descriptors", .problem, "the mock needs \(sessions + ownDescriptors) descriptors for \(sessions) sessions: \(limits).",
          remedy: remedy + ", or give the mock more processes with endpoint.mock.processes")
      }
      return Finding("descriptors", .ok, "\(wanted) needed: \(limits).")
    }
    if machine.hardDescriptors < 4096 {
      return Finding("descriptors", .note, "\(limits): at most \(machine.hardDescriptors - ownDescriptors) live sessions.", remedy: remedy)
    }
    return Finding("descriptors", .ok, "\(limits): at most \(machine.hardDescriptors - ownDescriptors) live sessions a process.")
  }

  private static func ports(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding {
    guard let range = machine.ports else { return Finding("ports", .note, "the range of outgoing ports cannot be read here.") }
    let span = "\(range.count) outgoing ports (\(range.lowerBound) to \(range.upperBound)) for each destination"
    guard let sessions = needs?.sessions, sessions > 0, let needs else { return Finding("ports", .ok, span + ".") }
    let share = (sessions + needs.destinations - 1) / needs.destinations
    let remedy =
      (needs.usesMock ? "give the mock more loopback addresses with endpoint.mock.addresses, or widen" : "widen")
      + " the range: sysctl -w net.ipv4.ip_local_port_range=\"1024 65000\""
    if share > range.count {
      return Finding("ports", .problem, "\(share) sessions go to one destination, and there are \(span).", remedy: remedy)
    }
    if Double(share) > Double(range.count) * 0.8 {
      return Finding(
        "ports", .note, "\(share) sessions of \(span): closed connections hold theirs for a minute, so churn may run out.",
        remedy: remedy)
    }
    return Finding("ports", .ok, "\(share) sessions of \(span).")
  }

  private static func backlog(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding {
    guard let most = machine.somaxconn else { return Finding("somaxconn", .note, "the accept queue's bound cannot be read here.") }
    guard let burst = needs?.burst, burst > most else { return Finding("somaxconn", .ok, "\(most) connections may wait to be accepted.") }
    return Finding(
      "somaxconn", .note, "\(burst) sessions start at once, and \(most) connections may wait to be accepted: the rest is retried after a second.",
      remedy: "sysctl -w net.core.somaxconn=\(min(65_535, max(4_096, burst))), or spread the starts with load.ramp_up")
  }

  private static func cores(_ machine: DoctorReadings) -> Finding {
    if machine.cores < 2 {
      return Finding(
        "cores", .note, "one core: client and mock take it from each other.",
        remedy: "run the server on another machine, or give this one a second core")
    }
    return Finding("cores", .ok, "\(machine.cores) cores.")
  }

  private static func rate(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding? {
    guard let needs, let events = needs.eventsPerSecond, events > 0 else { return nil }
    let cost = needs.usesCurl ? eventCost.curl : eventCost.raw
    // The mock costs about what the raw stack does.
    let wanted = events * (cost + (needs.usesMock ? eventCost.raw : 0))
    let text = "\(Int(events)) events/s take about \(String(format: "%.1f", wanted)) of \(machine.cores) cores, by an estimate"
    if wanted > Double(machine.cores) * 0.9 || events * cost > Double(max(1, machine.cores - (needs.usesMock ? 1 : 0))) * 0.9 {
      return Finding(
        "rate", .note, text + ": the run may be invalid.",
        remedy: needs.usesCurl ? "lower the load, or take the stack raw; `ssebench self-test` measures this machine" : "lower the load; `ssebench self-test` measures this machine")
    }
    return Finding("rate", .ok, text + ".")
  }

  private static func governor(_ machine: DoctorReadings) -> Finding {
    guard let governor = machine.governor else {
      return Finding("governor", .ok, "no CPU frequency governor to be seen here (a virtual machine's host has it).")
    }
    if governor == "performance" { return Finding("governor", .ok, "CPU governor performance.") }
    return Finding(
      "governor", .note, "CPU governor \(governor): the clock rate follows the load, and figures with it.",
      remedy: "cpupower frequency-set -g performance")
  }

  private static func steal(_ machine: DoctorReadings) -> Finding {
    guard let ratio = machine.stealRatio else { return Finding("steal", .note, "steal time cannot be read here.") }
    let text = "\(String(format: "%.1f", ratio * 100)) % of the time was taken by the hypervisor in the last moment"
    if ratio <= 0.01 { return Finding("steal", .ok, text + ".") }
    return Finding(
      "steal", .note, text + ": others on this host disturb the timing.",
      remedy: "take a machine with cores of its own, or more repeats")
  }

  private static func load(_ machine: DoctorReadings) -> Finding? {
    guard let load = machine.loadAverage else { return nil }
    let text = "load average \(String(format: "%.1f", load)) on \(machine.cores) cores"
    if load < Double(machine.cores) * 0.5 { return Finding("load", .ok, text + ".") }
    return Finding("load", .note, text + ": other programs are at work.", remedy: "end them before you measure")
  }

  private static func clock(_ machine: DoctorReadings) -> Finding {
    guard let source = machine.clockSource else { return Finding("clock", .ok, "the system's own monotonic clock.") }
    if ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(source) {
      return Finding(
        "clock", .note, "clock source \(source): a reading costs microseconds.",
        remedy: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, where the kernel offers it")
    }
    return Finding("clock", .ok, "clock source \(source).")
  }

  private static func mtu(_ machine: DoctorReadings) -> Finding? {
    guard let mtu = machine.loopbackMTU else { return nil }
    if mtu >= 16_384 { return Finding("loopback_mtu", .ok, "loopback MTU \(mtu).") }
    return Finding(
      "loopback_mtu", .note, "loopback MTU \(mtu): large reads come in more pieces than elsewhere.",
      remedy: "ip link set lo mtu 65536")
  }

  private static func memory(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding? {
    guard let available = machine.memoryAvailable else { return nil }
    let mebibytes = available >> 20
    guard let needs, let sessions = needs.sessions, sessions > 0 else {
      return Finding("memory", mebibytes < 256 ? .note : .ok, "\(mebibytes) MiB of memory available.")
    }
    let each = (!needs.usesCurl ? sessionBytes.raw : needs.usesTLS ? sessionBytes.tls : sessionBytes.curl) + (needs.usesMock ? 1_000 : 0)
    let wanted = Int64(sessions) * Int64(each) + 64 << 20
    let text = "\(sessions) sessions take about \(wanted >> 20) MiB of \(mebibytes) MiB available"
    if wanted > available {
      return Finding("memory", .problem, text + ".", remedy: "lower the concurrency, take the stack raw, or add memory")
    }
    return Finding("memory", wanted * 2 > available ? .note : .ok, text + ".", remedy: wanted * 2 > available ? "keep other programs small" : nil)
  }

  private static func disk(_ machine: DoctorReadings) -> Finding? {
    guard let free = machine.diskFree else { return nil }
    let text = "\(free >> 20) MiB free where Reports/ lies"
    if free < 32 << 20 { return Finding("disk", .problem, text + ": a report may not fit.", remedy: "free some space, or name another place with --out") }
    if free < 1 << 30 { return Finding("disk", .note, text + ": enough for a short run.", remedy: "free some space before a long run") }
    return Finding("disk", .ok, text + ".")
  }

  private static func curl(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding {
    let features = machine.curlFeatures.sorted().joined(separator: ", ")
    let text = "libcurl \(machine.curlVersion) with \(features)"
    if needs?.usesTLS == true && !machine.curlFeatures.contains("ssl") {
      return Finding("libcurl", .problem, "\(text): it has no TLS, and the scenario's URL is https.", remedy: "install a libcurl with TLS")
    }
    if needs?.usesHTTP2 == true && !machine.curlFeatures.contains("http2") {
      return Finding("libcurl", .problem, "\(text): it has no HTTP/2, and the scenario asks for it.", remedy: "install a libcurl with nghttp2, or set endpoint.http to 1.1")
    }
    let missing = ["ssl", "http2", "gzip"].filter { !machine.curlFeatures.contains($0) }
    if !missing.isEmpty {
      return Finding("libcurl", .note, "\(text); without \(missing.joined(separator: ", ")).", remedy: "install a libcurl that has them before you need them")
    }
    return Finding("libcurl", .ok, text + ".")
  }

  private static func jemalloc(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding {
    if machine.hasJemalloc { return Finding("jemalloc", .ok, "allocations can be measured (jemalloc).") }
    return Finding(
      "jemalloc", .note, "this process allocates without jemalloc: the memory figures will be null"
        + (needs?.measuresMemory == true ? ", and the scenario asks for them." : "."),
      remedy: "build where libjemalloc-dev is installed, and do not preload another allocator")
  }

  private static func realtime(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding {
    if machine.allowsRealtime { return Finding("realtime", .ok, "real-time priority is allowed.") }
    let asks = needs?.wantsRealtime == true
    return Finding(
      "realtime", asks ? .note : .ok,
      "real-time priority is not allowed" + (asks ? ": the scenario asks for it and would run without." : "; only measure.priority realtime needs it."),
      remedy: asks ? "run as root, or allow it: ulimit -r 10, or the capability CAP_SYS_NICE" : nil)
  }

  private static func build(_ machine: DoctorReadings) -> Finding? {
    guard machine.isDebugBuild else { return nil }
    return Finding("build", .note, "this is a debug build: its figures mean little.", remedy: "swift build -c release")
  }

  private static func fit(_ machine: DoctorReadings, _ needs: DoctorNeeds?) -> Finding? {
    guard let needs else { return nil }
    guard needs.sessions == nil else { return nil }
    return Finding(
      "unbounded", .note, "the load sets no bound on live sessions: a slow server lets them grow until a limit is met.",
      remedy: "set load.max_live, with load.beyond queue or drop")
  }
}
