defmodule RustlerTest do
  # Builds a small project as a user would, with Mix and cargo of this machine and nothing from a registry.
  use ExUnit.Case

  alias Rustler.Compiler.Config

  @moduletag :tmp_dir
  @moduletag timeout: 600_000

  # The least that the BEAM takes for a NIF library: an entry without functions.
  @library """
  mod other;
  use std::ffi::{c_char, c_int, c_uint, c_void};

  #[repr(C)]
  pub struct Entry {
      major: c_int, minor: c_int, name: *const c_char, num_of_funcs: c_int, funcs: *const c_void,
      load: *const c_void, reload: *const c_void, upgrade: *const c_void, unload: *const c_void,
      vm_variant: *const c_char, options: c_uint, sizeof_resource_type_init: usize, min_erts: *const c_char,
  }

  fn text(text: &'static str) -> *const c_char { text.as_ptr() as *const c_char }

  #[no_mangle]
  pub extern "C" fn nif_init() -> *mut Entry {
      let null = std::ptr::null();
      Box::into_raw(Box::new(Entry {
          major: 2, minor: other::MINOR, name: text("Elixir.Probe.Native\\0"), num_of_funcs: 0, funcs: null,
          load: null, reload: null, upgrade: null, unload: null, vm_variant: text("beam.vanilla\\0"), options: 1,
          sizeof_resource_type_init: 0, min_erts: text("erts-10.0\\0"),
      }))
  }
  """

  defp project(dir) do
    write(dir, "mix.exs", """
    defmodule Probe.MixProject do
      use Mix.Project

      def project do
        [app: :probe, version: "0.1.0", deps: [{:rustler, path: #{inspect(File.cwd!())}, runtime: false}]]
      end
    end
    """)

    write(dir, "lib/native.ex", """
    defmodule Probe.Native do
      use Rustler, otp_app: :probe, crate: :probe_nif, path: "native/probe_nif"
      def loaded?, do: true
    end
    """)

    write(dir, "native/Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"probe_nif\"]\n")

    write(dir, "native/probe_nif/Cargo.toml", """
    [package]
    name = "probe_nif"
    version = "0.1.0"
    edition = "2021"

    [lib]
    crate-type = ["cdylib"]
    """)

    write(dir, "native/probe_nif/src/lib.rs", @library)
    write(dir, "native/probe_nif/src/other.rs", "pub const MINOR: i32 = 14;\n")
  end

  defp write(dir, path, text) do
    path = Path.join(dir, path)
    File.mkdir_p!(Path.dirname(path))
    File.write!(path, text)
  end

  defp mix(dir, args) do
    # The test's own Mix must not hand its build directory down.
    env = [{"MIX_ENV", "dev"}, {"MIX_BUILD_PATH", nil}, {"CARGO_TARGET_DIR", nil}]
    System.cmd("mix", args, cd: dir, env: env, stderr_to_stdout: true)
  end

  # Mix tells changes by seconds.
  defp later, do: Process.sleep(1100)

  test "builds, loads, and builds again only for a reason", %{tmp_dir: dir} do
    project(dir)
    assert {output, 0} = mix(dir, ["run", "-e", "IO.inspect(Probe.Native.loaded?(), label: \"loaded\")"])
    assert output =~ "Compiling crate probe_nif in release mode"
    assert output =~ "loaded: true"
    assert File.exists?(Path.join(dir, "priv/native/probe_nif.so"))
    assert File.dir?(Path.join(dir, "native/target/release"))

    # The lock file is new after the first build, and seen as a new source once.
    later()
    mix(dir, ["compile"])
    assert {"", 0} = mix(dir, ["compile"])

    later()
    write(dir, "native/probe_nif/src/new.rs", "")
    assert {output, 0} = mix(dir, ["compile"])
    assert output =~ "Compiling crate probe_nif"

    later()
    write(dir, "native/probe_nif/src/other.rs", "pub const MINOR: i32 = 15;\n")
    assert {output, 0} = mix(dir, ["compile"])
    assert output =~ "Compiling crate probe_nif"

    File.rm!(Path.join(dir, "priv/native/probe_nif.so"))
    assert {output, 0} = mix(dir, ["run", "-e", "IO.inspect(Probe.Native.loaded?(), label: \"loaded\")"])
    assert output =~ "loaded: true"
  end

  test "a failure shows cargo's words and one line", %{tmp_dir: dir} do
    project(dir)
    write(dir, "native/probe_nif/src/other.rs", "pub const MINOR: i32 = \"no number\";\n")
    assert {output, 1} = mix(dir, ["compile"])
    assert output =~ "mismatched types"
    assert output =~ "(Mix.Error) cargo could not build crate probe_nif for Probe.Native"
    refute File.exists?(Path.join(dir, "priv/native/probe_nif.so"))
  end

  test "a crate that is not there is named", %{tmp_dir: dir} do
    project(dir)
    File.rm!(Path.join(dir, "native/probe_nif/Cargo.toml"))
    assert {output, 1} = mix(dir, ["compile"])
    assert output =~ "there is no Cargo.toml in native/probe_nif, named by Probe.Native"
  end

  describe "Config.new/3" do
    test "fills in defaults, and application settings win" do
      config = Config.new(Some.Native, [mode: :debug], otp_app: :some, mode: :release)
      assert %{crate: "some", path: "native/some", load_from: {:some, "priv/native/some"}} = config
      assert %{mode: :debug, load_data: 0, features: [], skip_compilation?: false} = config

      config = Config.new(Some.Native, [], otp_app: :some, crate: :other)
      assert %{crate: "other", path: "native/other", load_from: {:some, "priv/native/other"}} = config
    end

    test "refuses what it does not know" do
      assert_raise ArgumentError, ~r/:crte/, fn -> Config.new(M, [], otp_app: :a, crte: :b) end
      assert_raise ArgumentError, ~r/:mode/, fn -> Config.new(M, [], otp_app: :a, mode: :fast) end
      assert_raise ArgumentError, ~r/:cargo/, fn -> Config.new(M, [], otp_app: :a, cargo: "cargo") end
      assert_raise KeyError, fn -> Config.new(M, [], crate: :b) end
    end
  end
end
