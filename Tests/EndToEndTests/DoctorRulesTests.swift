// The rules of `doctor` on machines that are not there.

import TestSupport
import Testing
import ssebench

@Suite struct DoctorRulesTests {
  /// A quiet machine with everything.
  private func machine(_ change: (inout DoctorReadings) -> Void = { _ in }) -> DoctorReadings {
    var machine = DoctorReadings()
    machine.hardDescriptors = 20_000
    machine.ports = 32_768...60_999
    machine.somaxconn = 4_096
    machine.cores = 2
    machine.stealRatio = 0
    machine.loadAverage = 0.1
    machine.clockSource = "tsc"
    machine.loopbackMTU = 65_536
    machine.memoryAvailable = 4 << 30
    machine.diskFree = 10 << 30
    machine.curlFeatures = ["ssl", "http2", "gzip"]
    machine.hasJemalloc = true
    machine.allowsRealtime = true
    change(&machine)
    return machine
  }

  private func needs(_ change: (inout DoctorNeeds) -> Void = { _ in }) -> DoctorNeeds {
    var needs = DoctorNeeds()
    needs.sessions = 1_000
    needs.usesMock = true
    change(&needs)
    return needs
  }

  private func state(_ code: String, _ findings: [Finding]) -> Finding.State? { findings.first { $0.code == code }?.state }

  @Test func quietMachine_HasNothingToSay() {
    let findings = DoctorRules.findings(machine(), needs())

    #expect(findings.allSatisfy { $0.state == .ok })
    #expect(findings.allSatisfy { $0.remedy == nil })
  }

  @Test func whatIsNotWell_HasARemedy() {
    let worst = machine {
      $0.hardDescriptors = 256
      $0.ports = 60_000...60_010
      $0.somaxconn = 16
      $0.cores = 1
      $0.governor = "powersave"
      $0.stealRatio = 0.3
      $0.loadAverage = 9
      $0.clockSource = "hpet"
      $0.loopbackMTU = 1_500
      $0.memoryAvailable = 1 << 20
      $0.diskFree = 1 << 20
      $0.curlFeatures = []
      $0.hasJemalloc = false
      $0.allowsRealtime = false
      $0.isDebugBuild = true
    }
    let all = needs {
      $0.burst = 1_000
      $0.usesTLS = true
      $0.wantsRealtime = true
      $0.eventsPerSecond = 1e6
    }

    let findings = DoctorRules.findings(worst, all)

    #expect(findings.allSatisfy { $0.state != .ok && $0.remedy != nil })
    for code in ["descriptors", "ports", "memory", "disk", "libcurl"] { #expect(state(code, findings) == .problem, "\(code)") }
  }

  @Test func sessionsBeyondTheHardLimit_AreAProblem_AndSharedOutAreNot() {
    let many = needs { $0.sessions = 30_000; $0.usesMock = false; $0.destinations = 2; $0.usesCurl = false }
    let shared = needs { $0.sessions = 30_000; $0.usesMock = false; $0.destinations = 2; $0.usesCurl = false; $0.workers = 2 }

    #expect(state("descriptors", DoctorRules.findings(machine(), many)) == .problem)
    #expect(state("descriptors", DoctorRules.findings(machine(), shared)) == .ok)
  }

  @Test func portsCountForEachDestination() {
    let one = needs { $0.sessions = 29_000 }
    let two = needs { $0.sessions = 29_000; $0.destinations = 2 }

    #expect(state("ports", DoctorRules.findings(machine(), one)) == .problem)
    #expect(state("ports", DoctorRules.findings(machine(), two)) == .ok)
  }

  @Test func loadWithoutABound_IsSaid() {
    let open = needs { $0.sessions = nil }

    #expect(state("unbounded", DoctorRules.findings(machine(), open)) == .note)
  }

  @Test func doctor_PrintsJSON() throws {
    let program = try BuiltProgram.run(["doctor", "--json"], in: TemporaryFolder())

    #expect(program.code == 0 || program.code == 1)
    #expect(program.output.contains("\"schema_version\": 1"))
    #expect(program.output.contains("\"descriptors\""))
  }
}
