import Foundation
import HabitStore
import Hummingbird
import Logging

/// `habitstore-serve`: serves the page of a fleet.
@main
struct Serve {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.contains("--help") || arguments.contains("-h") { return print(ServeOptions.help) }
            try await run(try ServeOptions(arguments, ProcessInfo.processInfo.environment))
        } catch {
            let failure = error as? ServeFailure ?? .inputOutput("\(error)")
            FileHandle.standardError.write(Data("habitstore-serve: error: \(failure.message)\n".utf8))
            exit(failure.status)
        }
    }

    /// How long a connection may be idle, or take to send a request's head.
    private static let idleSeconds: Int64 = 15
    private static let mostConnections = 256
    private static let headBytes = 16_384

    private static func run(_ options: ServeOptions) async throws {
        OperatorCommand.name = options.command
        let site: Site
        do {
            site = try Site(options)
        } catch {
            throw ServeFailure(status: 70, message: "the page's templates cannot be read: \(error)")
        }
        var logger = Logger(label: "habitstore-serve")
        logger.logLevel = .critical
        let listen = options.listen
        let halfOpen = HalfOpenConnections()
        let application = Application(
            responder: site,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [HalfOpenLimit(halfOpen)],
                    idleTimeout: .seconds(idleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: headBytes,
                        maxHeaderListSize: headBytes,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(listen.host, port: listen.port),
                availableConnectionsDelegate: .maximum(mostConnections, logger: logger)
            ),
            onServerRunning: { channel in
                print(listen.url(port: channel.localAddress?.port ?? listen.port))
                fflush(nil)
            },
            logger: logger
        )
        do {
            try await application.runService()
        } catch {
            throw ServeFailure.inputOutput("\(listen.host):\(listen.port) cannot be listened on: \(error)")
        }
    }
}
