defmodule Mote.Native.LibraryTest do
  # Where the native library comes from: what is listed precompiled is taken, all else is built.
  use ExUnit.Case, async: true

  alias Mote.Native.Library

  @linux "x86_64-unknown-linux-gnu"

  test "archives have the names that rustler_precompiled looks for" do
    assert Library.artifact(:mote_nif, "0.1.0", @linux) ==
             "libmote_nif-v0.1.0-nif-2.16-x86_64-unknown-linux-gnu.so.tar.gz"
  end

  test "what is not listed is built, and so is what is asked for" do
    archive = Library.artifact(:mote_nif, "0.1.0", @linux)
    listed = %{archive => "sha256:00"}

    assert Library.reason_to_build(false, listed, archive) == nil
    assert Library.reason_to_build(true, listed, archive) == :asked
    assert Library.reason_to_build(false, %{}, archive) == :checkout
    other = Library.artifact(:mote_nif, "0.1.0", "sparc64-unknown-linux-gnu")
    assert Library.reason_to_build(false, listed, other) == :unlisted
  end

  test "Windows is refused in words" do
    assert Library.supported!({:unix, :linux}) == :ok
    assert_raise Mix.Error, ~r/does not support Windows/, fn -> Library.supported!({:win32, :nt}) end
  end

  test "Rust that is missing or too old is told of in one line" do
    for found <- ["1.95.0", "1.95.1-nightly", "1.100.0", "2.0.0"],
        do: assert(Library.rust!(found, "1.95") == :ok)

    assert_raise Mix.Error, ~r/needs Rust 1.95 or later, and there is none: .*rustup.rs/, fn ->
      Library.rust!(nil, "1.95")
    end

    for old <- ["1.94.9", "1.9.0", "0.99.0"],
        do: assert_raise(Mix.Error, ~r/and this is #{old}: /, fn -> Library.rust!(old, "1.95") end)
  end

  test "the release workflow builds every target, and no other" do
    workflow = File.read!(".github/workflows/release.yml")
    built = for [_, target] <- Regex.scan(~r/target: ([\w-]+)/, workflow), do: target
    assert Enum.sort(built) == Enum.sort(Library.targets())
  end
end
