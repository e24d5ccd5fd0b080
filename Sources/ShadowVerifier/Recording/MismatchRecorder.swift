import HabitStore
import Hashing
import Synchronization

/// Takes down the listed differences of a comparison with what they were seen in: give it to
/// ``VerificationOptions/recorder``, and ask for the ``recording`` when the comparison has ended.
///
/// The values that differ are kept when the comparison shows values, and only digests of them otherwise: see
/// ``MismatchRecording``.
public final class MismatchRecorder: Sendable {
    private let current = Mutex<MismatchRecording?>(nil)

    /// A recorder without a recording.
    public init() {}

    /// The recording; nil before a comparison has opened its stores.
    public var recording: MismatchRecording? { current.withLock { $0 } }

    func begin(_ report: VerificationReport, _ schema: Schema) {
        current.withLock { $0 = MismatchRecording(report, schema) }
    }

    func add(_ mismatch: RecordedMismatch) { current.withLock { $0?.add(mismatch) } }
}
