// A process learns its shard from its flag or its launcher, and nothing contradicts.

import Arrivals
import Testing

@Suite struct ShardTests {
  private func shard(_ flag: String? = nil, _ environment: [String: String] = [:]) throws(ShardProblem)
    -> String?
  {
    try Shard.fromEnvironment(flag: flag, environment)?.description
  }

  @Test func aloneWithoutFlagAndLauncher() throws {
    #expect(try shard() == nil)
    #expect(try shard(nil, ["SLURM_PROCID": "0", "SLURM_NTASKS": "1"]) == nil)
    #expect(try shard("0/1") == "0/1")
  }

  @Test(arguments: [
    ["OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"], ["PMI_RANK": "3", "PMI_SIZE": "4"],
    ["SLURM_PROCID": "3", "SLURM_NTASKS": "4"],
    ["JOB_COMPLETION_INDEX": "3", "SSEBENCH_SHARDS": "4"],
    ["JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "4"],
    ["PMI_RANK": "3", "PMI_SIZE": "4", "SLURM_PROCID": "3", "SLURM_NTASKS": "4"],
  ])
  func everyLauncherIsUnderstood(environment: [String: String]) throws {
    #expect(try shard(nil, environment) == "3/4")
    #expect(try shard("3/4", environment) == "3/4")
  }

  @Test(arguments: [
    ["OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMI_RANK": "2", "PMI_SIZE": "4"],
    ["OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "1", "SLURM_NTASKS": "8"],
    ["OMPI_COMM_WORLD_RANK": "3"], ["SLURM_PROCID": "4", "SLURM_NTASKS": "4"],
    ["PMI_RANK": "-1", "PMI_SIZE": "4"], ["PMI_RANK": "x", "PMI_SIZE": "4"],
    ["JOB_COMPLETION_INDEX": "0"],
    ["JOB_COMPLETION_INDEX": "0", "SSEBENCH_SHARDS": "4", "JOB_COMPLETIONS": "5"],
    ["PMI_RANK": "0", "PMI_SIZE": "0"],
  ])
  func contradictionsAndHalvesAreErrors(environment: [String: String]) {
    #expect(throws: ShardProblem.self) { try shard(nil, environment) }
  }

  @Test func flagAgainstLauncherIsAnError() throws {
    let problem = #expect(throws: ShardProblem.self) { try shard("0/4", ["PMI_RANK": "3", "PMI_SIZE": "4"]) }
    #expect(problem?.description.contains("--shard says shard 0/4 and PMI says 3/4") == true)
  }

  @Test func mpirunInsideABatchScriptOfSlurm_IsWhatItSays() throws {
    let environment = [
      "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "8",
      "SLURM_JOB_ID": "7",
    ]

    #expect(try shard(nil, environment) == "3/4")
  }

  @Test func batchScriptOfSlurm_IsNoShardOfItself() throws {
    let environment = ["SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"]
    let problem = #expect(throws: ShardProblem.self) { try shard(nil, environment) }

    #expect(problem?.description.contains("srun") == true)
    #expect(try shard("2/4", environment) == "2/4")
    #expect(try shard(nil, environment.merging(["SLURM_STEP_ID": "0"]) { $1 }) == "0/4")
  }

  @Test func sharesTogetherAreTheTotal() {
    for total in [0, 1, 7, 64, 1_001] {
      for count in [1, 2, 3, 7, 100] {
        #expect((0..<count).reduce(0) { $0 + (Shard(index: $1, count: count)?.share(of: total) ?? 0) } == total)
      }
    }
  }

  @Test(arguments: ["", "3", "4/4", "-1/4", "1/0", "a/b", "1/4/2", " 1/4", "+1/4", "1/2000000"])
  func wrongFlagIsRefused(_ flag: String) {
    #expect(throws: ShardProblem.self) { try shard(flag) }
  }
}
