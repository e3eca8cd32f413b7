defmodule RustlerPrecompiledTest do
  # Takes an archive as a user's build would: a small project, with Mix, and a library that cargo never made.
  use ExUnit.Case

  alias RustlerPrecompiled.Target

  @moduletag :tmp_dir
  @moduletag timeout: 600_000

  # The least that the BEAM takes for a NIF library: an entry without functions.
  @library """
  typedef struct {
    int major, minor; const char *name; int num_of_funcs; void *funcs;
    void *load, *reload, *upgrade, *unload;
    const char *vm_variant; unsigned options; unsigned long sizeof_resource_type_init; const char *min_erts;
  } Entry;

  static Entry entry = {2, 16, "Elixir.Probe.Native", 0, 0, 0, 0, 0, 0, "beam.vanilla", 1, 0, "erts-10.0"};
  Entry *nif_init(void) { return &entry; }
  """

  defp project(dir, checksum \\ &Function.identity/1) do
    {:ok, target} = RustlerPrecompiled.target(Target.defaults(), ["2.16"])
    name = "libprobe_nif-v0.1.0-#{target}.so"
    archive = Path.join(dir, "cache/#{name}.tar.gz")

    write(dir, "mix.exs", """
    defmodule Probe.MixProject do
      use Mix.Project

      def project do
        [app: :probe, version: "0.1.0", deps: [{:rustler_precompiled, path: #{inspect(File.cwd!())}, runtime: false}]]
      end
    end
    """)

    write(dir, "lib/native.ex", """
    defmodule Probe.Native do
      use RustlerPrecompiled,
        otp_app: :probe,
        crate: :probe_nif,
        base_url: "https://example.com",
        version: "0.1.0",
        nif_versions: ["2.16"]

      def loaded?, do: true
    end
    """)

    write(dir, "library.c", @library)
    library = Path.join(dir, name)

    {"", 0} =
      System.cmd("cc", ~w(-shared -fPIC -o #{library} #{Path.join(dir, "library.c")}), stderr_to_stdout: true)

    File.mkdir_p!(Path.dirname(archive))

    :ok =
      :erl_tar.create(String.to_charlist(archive), [{String.to_charlist(name), File.read!(library)}], [
        :compressed
      ])

    sum = :sha256 |> :crypto.hash(File.read!(archive)) |> Base.encode16(case: :lower)

    write(
      dir,
      "checksum-Elixir.Probe.Native.exs",
      "%{#{inspect(name <> ".tar.gz")} => #{inspect("sha256:" <> checksum.(sum))}}\n"
    )

    archive
  end

  defp write(dir, path, text) do
    path = Path.join(dir, path)
    File.mkdir_p!(Path.dirname(path))
    File.write!(path, text)
  end

  defp mix(dir, args, env \\ []) do
    # The test's own Mix must not hand its build directory down.
    env =
      [
        {"MIX_ENV", "dev"},
        {"MIX_BUILD_PATH", nil},
        {"RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH", Path.join(dir, "cache")}
      ] ++ env

    System.cmd("mix", args, cd: dir, env: env, stderr_to_stdout: true)
  end

  test "takes the library out of the archive and loads it", %{tmp_dir: dir} do
    project(dir)
    assert {output, 0} = mix(dir, ["run", "-e", "IO.inspect(Probe.Native.loaded?(), label: \"loaded\")"])
    assert output =~ "loaded: true"
  end

  test "a wrong checksum ends the build", %{tmp_dir: dir} do
    project(dir, &String.reverse/1)
    assert {output, 1} = mix(dir, ["compile"])
    assert output =~ "the integrity check failed because the checksum of libprobe_nif-v0.1.0-nif-2.16-"
    assert output =~ "config :rustler_precompiled, :force_build, probe: true"
  end

  test "an archive that is not there is named", %{tmp_dir: dir} do
    archive = project(dir)
    File.rm!(archive)
    assert {output, 1} = mix(dir, ["compile"])
    assert output =~ "#{archive} is not there"
  end

  test "a build that is asked for is Rustler's", %{tmp_dir: dir} do
    project(dir)
    assert {output, 1} = mix(dir, ["compile"], [{"RUSTLER_PRECOMPILED_FORCE_BUILD_ALL", "1"}])
    assert output =~ "there is no Cargo.toml in native/probe_nif" or output =~ "add {:rustler"
  end

  test "computers are named as Rust names them" do
    name = &Target.name({&1, &2}, Target.defaults(), ["2.15", "2.16"])
    assert name.("x86_64-pc-linux-gnu", "2.17") == {:ok, "nif-2.16-x86_64-unknown-linux-gnu"}
    assert name.("amd64-redhat-linux-gnu", "2.15") == {:ok, "nif-2.15-x86_64-unknown-linux-gnu"}
    assert name.("aarch64-apple-darwin23.1.0", "2.16") == {:ok, "nif-2.16-aarch64-apple-darwin"}
    assert name.("x86_64-alpine-linux-musl", "2.16") == {:ok, "nif-2.16-x86_64-unknown-linux-musl"}
    assert {:error, message} = name.("sparc-sun-solaris", "2.16")
    assert message =~ "sparc-sun-solaris"
    assert {:error, message} = name.("x86_64-pc-linux-gnu", "1.0")
    assert message =~ "\"1.0\""
  end
end
