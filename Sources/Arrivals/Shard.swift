// Which part of a plan a process runs, from `--shard I/N` or from what a launcher set. Knows no environment of its own:
// it is handed one.

/// Part `index` of `count`; the parts of one plan together are the plan.
package struct Shard: Hashable, Sendable, CustomStringConvertible {
  /// From 0 to `count` − 1.
  package let index: Int
  /// 1 to 1,000,000.
  package let count: Int

  package init?(index: Int, count: Int) {
    guard (1...1_000_000).contains(count), (0..<count).contains(index) else { return nil }
    self.index = index
    self.count = count
  }

  /// "2/4"; the index counts from 0.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let index = Self.number(parts[0]), let count = Self.number(parts[1]) else {
      return nil
    }
    self.init(index: index, count: count)
  }

  package var description: String { "\(index)/\(count)" }

  /// This shard's part of `total` things that are dealt in turn: 0, 1, … `total` − 1 that are `index` modulo `count`.
  package func share(of total: Int) -> Int { total > index ? (total - index + count - 1) / count : 0 }

  /// Digits only: no sign, no blank.
  private static func number(_ text: some StringProtocol) -> Int? {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }
}

/// Why a process does not know its shard.
package struct ShardProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was found and what to do.
  package var description: String
}

extension Shard {
  /// The variables of each launcher, and where each comes from.
  private static let launchers: [(name: String, index: String, counts: [String])] = [
    ("Open MPI", "OMPI_COMM_WORLD_RANK", ["OMPI_COMM_WORLD_SIZE"]),
    ("PMI", "PMI_RANK", ["PMI_SIZE"]),
    ("Slurm", "SLURM_PROCID", ["SLURM_NTASKS"]),
    ("Kubernetes", "JOB_COMPLETION_INDEX", ["SSEBENCH_SHARDS", "JOB_COMPLETIONS"]),
  ]

  /// All variables that `fromEnvironment` looks at.
  package static var launcherVariables: Set<String> { Set(launchers.flatMap { [$0.index] + $0.counts }) }

  /// The shard of this process; nil where it is alone.
  ///
  /// Every launcher that left its variables must say the same, and so must `flag`. A launcher of one process says
  /// nothing. In the batch script of a Slurm job its variables are those of the whole allocation: they give way to
  /// `flag` and to an MPI launcher inside it, and alone they are an error, since nothing runs the other shards.
  package static func fromEnvironment(
    flag: String?, _ environment: [String: String]
  ) throws(ShardProblem) -> Shard? {
    var found: [(name: String, shard: Shard)] = []
    for launcher in launchers {
      guard let shard = try read(launcher, environment) else { continue }
      if launcher.name == "Slurm" && shard.count > 1 && isBatchScript(environment) {
        if flag != nil || !found.isEmpty { continue }
        throw ShardProblem(
          description: "this is the batch script of a Slurm job of \(shard.count) tasks, and no task of it; "
            + "start the shards with `srun`, or give --shard I/N")
      }
      if shard.count > 1 { found.append((launcher.name, shard)) }
    }
    if let flag {
      guard let shard = Shard(flag) else {
        throw ShardProblem(
          description:
            "--shard: '\(flag.prefix(40))' is not a shard; expected I/N with I from 0 to N - 1, such as 0/4")
      }
      found.insert(("--shard", shard), at: 0)
    }
    guard let first = found.first else { return nil }
    if let other = found.first(where: { $0.shard != first.shard }) {
      throw ShardProblem(
        description:
          "\(first.name) says shard \(first.shard) and \(other.name) says \(other.shard); expected the same. "
          + "Unset the variables of the one that does not count")
    }
    return first.shard
  }

  /// `srun` gives each task the number of its step; the batch script has none, or one that is no number.
  private static func isBatchScript(_ environment: [String: String]) -> Bool {
    environment["SLURM_PROCID"] == "0" && environment["SLURM_JOB_ID"] != nil
      && environment["SLURM_STEP_ID"].flatMap { Int($0) } == nil
  }

  private static func read(
    _ launcher: (name: String, index: String, counts: [String]), _ environment: [String: String]
  ) throws(ShardProblem) -> Shard? {
    guard let index = environment[launcher.index] else { return nil }
    let given = launcher.counts.filter { environment[$0] != nil }
    guard let countName = given.first, let count = environment[countName] else {
      throw ShardProblem(
        description: "\(launcher.index) is set and \(launcher.counts.joined(separator: " or ")) is not; "
          + "set \(launcher.counts[0]) to the number of processes")
    }
    if let other = given.dropFirst().first, environment[other] != count {
      throw ShardProblem(
        description:
          "\(countName)=\(count) and \(other)=\(environment[other] ?? "") differ; expected the same number")
    }
    guard let index = number(index), let count = number(count), let shard = Shard(index: index, count: count)
    else {
      throw ShardProblem(
        description:
          "\(launcher.index)=\(index.prefix(20)) of \(countName)=\(count.prefix(20)) is not a shard; expected a number from 0 below the second"
      )
    }
    return shard
  }
}
