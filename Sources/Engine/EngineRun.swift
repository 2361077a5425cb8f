// One load of one variant, from its start to its last session: makes the worker threads, carries their reports to the
// caller, passes on the order to stop. Knows no files and no figures.

package import Primitives
package import Recording
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A load that runs on worker threads of its own. Used by one thread.
package final class EngineRun {
  package let origin: Instant
  private let workers: [Worker]
  private let mailboxes: [WorkerMailbox]
  private let stopSignal = StopSignal()
  private var threads: [pthread_t] = []

  /// - Parameters:
  ///   - loads: one a worker thread.
  ///   - origin: the instant 0 of the plan; give it a few milliseconds of lead.
  package init(settings: SessionSettings, loads: [WorkerLoad], origin: Instant) throws(EngineError) {
    self.origin = origin
    var workers: [Worker] = []
    var mailboxes: [WorkerMailbox] = []
    do {
      for (number, load) in loads.enumerated() {
        let mailbox = WorkerMailbox()
        mailboxes.append(mailbox)
        workers.append(
          try Worker(
            settings: settings, load: load, number: number, origin: origin, mailbox: mailbox, stop: stopSignal))
      }
    } catch {
      throw EngineError("a worker could not be made: \(error)")
    }
    self.workers = workers
    self.mailboxes = mailboxes
  }

  package func start() {
    for worker in workers {
      threads.append(startThread(worker))
    }
  }

  /// What each worker has handed over since the last call.
  package func take() -> [WorkerReport] { mailboxes.map { $0.take() } }

  /// Returns an interval's memory to worker `number` for its next one.
  package func giveBack(_ record: IntervalRecord, toWorker number: Int) { mailboxes[number].giveBack(record) }

  /// Starts no more sessions and ends the live ones.
  package func stop() { stopSignal.order = .now }

  /// Waits for the threads' ends; every report is then in the mailboxes.
  package func join() {
    for thread in threads { pthread_join(thread, nil) }
    threads = []
  }
}

#if canImport(Glibc)
private func startThread(_ worker: Worker) -> pthread_t {
  var thread = pthread_t()
  let code = pthread_create(&thread, nil, { runWorker($0) }, Unmanaged.passRetained(worker).toOpaque())
  precondition(code == 0, "a worker thread could not be started: errno \(code)")
  return thread
}
#else
private func startThread(_ worker: Worker) -> pthread_t {
  var thread: pthread_t?
  let code = pthread_create(&thread, nil, { runWorker($0) }, Unmanaged.passRetained(worker).toOpaque())
  guard code == 0, let thread else { preconditionFailure("a worker thread could not be started: errno \(code)") }
  return thread
}
#endif

private func runWorker(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<Worker>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
