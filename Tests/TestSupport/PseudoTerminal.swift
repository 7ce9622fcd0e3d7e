import Glibc

/// A terminal whose other end the test controls.
package struct PseudoTerminal: ~Copyable {
    package let master: Int32
    package let slave: Int32
    package let name: String

    /// This machine has no pseudo-terminals.
    package struct NotThere: Error {}

    package init(columns: Int = 80, rows: Int = 24) throws {
        self.master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // The ioctls of unlockpt(3) and ptsname(3), which Swift's Glibc module lacks (pts(4)).
        var (locked, number): (Int32, Int32) = (0, 0)
        let unlocked = unsafe ioctl(self.master, 0x4004_5431, &locked)
        let named = unsafe ioctl(self.master, 0x8004_5430, &number)
        self.name = "/dev/pts/\(number)"
        self.slave = unsafe open(self.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard unlocked == 0, named == 0 else { throw NotThere() }
        self.resize(columns: columns, rows: rows)
    }

    deinit {
        close(self.master)
        close(self.slave)
    }

    /// Changes the size; the kernel notifies the program with SIGWINCH.
    package func resize(columns: Int, rows: Int) {
        var size = winsize()
        size.ws_col = UInt16(columns)
        size.ws_row = UInt16(rows)
        unsafe _ = ioctl(self.master, UInt(TIOCSWINSZ), &size)
    }

    /// True if typed characters are echoed, as in a shell.
    package var showsInput: Bool { Self.echoes(self.slave) }

    package static func echoes(_ descriptor: Int32) -> Bool {
        var state = termios()
        guard unsafe tcgetattr(descriptor, &state) == 0 else { return false }
        return state.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Types on the terminal's keyboard.
    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe write(self.master, bytes, bytes.count)
    }
}
