import Foundation

/// Sends the requests of hooks. `HabitStoreHooks` has one over `URLSession`; who has no hooks links none.
public protocol HookTransport: Sendable {
    /// Posts a request, and waits for its answer: no longer than the request says, with the certificate verified, without following
    /// redirections, and reading no more of the answer's body than is needed to be polite.
    ///
    /// - Returns: the status that was answered.
    /// - Throws: why there is no answer.
    func post(_ request: HookRequest) throws(HookFailure) -> Int
}

/// What is posted to a hook.
public struct HookRequest: Sendable, Hashable {
    /// Where to.
    public let url: URL
    /// The headers, by name.
    public let headers: [String: String]
    /// JSON.
    public let body: Data
    /// How long an answer is waited for, in seconds.
    public let timeoutSeconds: Double
}

/// Why a hook could not be told, in the words that follow its name.
public struct HookFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// `cannot be reached: Connection refused`
    public let description: String

    /// - Parameter words: one line, without the URL.
    public init(_ words: String) {
        description = words.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
