import Foundation

extension FleetPlan {
    /// Who is told what is done with a fleet, by HTTP.
    public struct Hook: Sendable, Hashable {
        /// What people call it: the URL may hold a secret, and is shown nowhere.
        public let name: String
        /// Where it is.
        public let url: URL
        /// The file of the secret that bodies are signed with, for its owner only.
        public let secretFile: String
        /// The events that it is told of; nil for all.
        public var events: Set<String>?
        /// Whether each wave waits until the hook has answered 200.
        public var confirmsWaves = false
        /// Whether it is told the ids of users for whom the fleet was halted.
        public var namesUsers = false
        /// How long an answer is waited for, in seconds.
        public var timeoutSeconds = 10.0

        /// A hook that is told everything.
        public init(name: String, url: URL, secretFile: String) {
            (self.name, self.url, self.secretFile) = (name, url, secretFile)
        }

        /// Whether it is told of an event.
        func wants(_ event: FleetEvent) -> Bool { events?.contains(event.kind) ?? true }
    }
}
