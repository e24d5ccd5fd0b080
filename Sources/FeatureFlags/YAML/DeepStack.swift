import Foundation

/// Runs work that calls itself deeply on a thread with a stack of a known size.
enum DeepStack {
    private static let stackSizeBytes = 16 << 20

    /// The work's result goes from its thread to the caller once, with the semaphore between them.
    private final class Box<Value>: @unchecked Sendable {
        var result: Result<Value, FlagError>?
    }

    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws(FlagError) -> Value) throws(FlagError)
        -> Value
    {
        let box = Box<Value>()
        let finished = DispatchSemaphore(value: 0)
        let thread = Thread {
            do throws(FlagError) { box.result = .success(try work()) } catch { box.result = .failure(error) }
            finished.signal()
        }
        thread.stackSize = stackSizeBytes
        thread.start()
        finished.wait()
        guard let result = box.result else { throw FlagError(.general, "the file was not read; try again") }
        return try result.get()
    }
}
