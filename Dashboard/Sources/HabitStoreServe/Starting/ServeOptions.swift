import Foundation
import HabitStore
import HabitStoreFleet

/// The server's command-line options.
struct ServeOptions {
    var listen: ListenAddress
    var root: String
    /// The name of the store that the page is about; nil for unnamed stores.
    var storeName: String?
    var flags: String?
    /// The name of the operator's command in the commands that the page suggests.
    var command = OperatorCommand.name
    var token: Token?
    /// The names of this server, in addition to addresses and localhost.
    var hosts: Set<String> = []
    var showsUsers = false
    var timeZone = TimeZone.current

    static let help = """
        usage: habitstore-serve --root ROOT [--store-name NAME] [--flags FILE] [--listen HOST:PORT] [--token-file FILE] [--host NAME]…
                                [--command NAME] [--show-users] [--time-zone ZONE]

        Serves the page of a fleet, and its metrics at /metrics. `habitstore serve` finds the root and the flags as every command does,
        and starts this.

          --root ROOT         the folder of all users' stores
          --store-name NAME   the store to show, if users have several
          --flags FILE        the flag file
          --listen HOST:PORT  where to listen; anything but loopback needs a token (default: 127.0.0.1:8737)
          --token-file FILE   a file with the token, for its owner only (default: $HABITSTORE_TOKEN)
          --host NAME         a host name of the page, in addition to addresses and localhost
          --command NAME      the name of the command to run in the page's advice (default: habitstore)
          --show-users        show users by their ids, instead of by a hash
          --time-zone ZONE    the time zone of the times shown, such as Europe/Berlin (default: the system's)
        """

    /// Parses the arguments and the environment.
    init(_ arguments: [String], _ environment: [String: String]) throws(ServeFailure) {
        var (listen, root, tokenFile): (String?, String?, String?) = ("127.0.0.1:8737", nil, nil)
        var left = arguments[...]
        func value(of name: String) throws(ServeFailure) -> String {
            guard let value = left.popFirst(), !value.isEmpty else {
                throw .usage("\(name) needs a value; --help lists the options")
            }
            return value
        }
        while let argument = left.popFirst() {
            switch argument {
            case "--listen": listen = try value(of: argument)
            case "--root": root = try value(of: argument)
            case "--store-name": storeName = try value(of: argument)
            case "--command": command = try value(of: argument)
            case "--flags": flags = try value(of: argument)
            case "--token-file": tokenFile = try value(of: argument)
            case "--host": hosts.insert(try value(of: argument).lowercased())
            case "--show-users": showsUsers = true
            case "--time-zone":
                let name = try value(of: argument)
                guard let zone = TimeZone(identifier: name) else {
                    throw .usage("there is no time zone \"\(name)\"; write one like Europe/Berlin")
                }
                timeZone = zone
            default: throw .usage("there is no option \"\(argument)\"; --help lists the options")
            }
        }
        guard let root else { throw .usage("--root is missing: the folder of all users' stores") }
        self.root = URL(fileURLWithPath: root, isDirectory: true).standardizedFileURL.path
        do {
            _ = try Fleet(root: self.root, store: storeName)
        } catch {
            throw .usage("\(error)")
        }
        self.listen = try ListenAddress(listen ?? "")
        if let tokenFile {
            token = try Token(file: tokenFile)
        } else if let text = environment["HABITSTORE_TOKEN"], !text.isEmpty {
            token = try Token(text, from: "$HABITSTORE_TOKEN")
        }
        guard token != nil || hosts.isEmpty else {
            throw .usage(
                "--host is for readers on other machines, and there is no token; give one with --token-file or $HABITSTORE_TOKEN"
            )
        }
        guard token != nil || self.listen.isLoopback else {
            throw .usage(
                "\(self.listen.host) can be reached from other machines, and there is no token; give one with --token-file or "
                    + "$HABITSTORE_TOKEN, or listen on 127.0.0.1"
            )
        }
    }
}
