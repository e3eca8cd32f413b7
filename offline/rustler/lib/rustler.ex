defmodule Rustler do
  @moduledoc """
  Builds a cargo crate while the module that says `use Rustler` compiles, and loads it as that module's NIF.

  This is the fallback for machines without Hex: it reads the options below and leaves the rest of the real
  package (code generators, cross compilation, other toolchains) out.

      defmodule MyApp.Native do
        use Rustler, otp_app: :my_app, crate: :my_nif, path: "native/my_nif"

        def add(_a, _b), do: :erlang.nif_error(:nif_not_loaded)
      end

  ## Options

  Settings under `config :my_app, MyApp.Native, …` win over those of `use`.

    * `:otp_app` - the application whose `priv` directory takes the library. Required.
    * `:crate` - the cargo package to build. Default: the application's name.
    * `:path` - where that package is. Default: `"native/<crate>"`.
    * `:mode` - `:release` (default) or `:debug`.
    * `:features`, `:default_features` - cargo features: a list of strings, and a boolean (default `true`).
    * `:cargo` - `:system` (default) or `{:bin, path}`.
    * `:env` - environment of cargo, a list of `{name, value}`.
    * `:target_dir` - cargo's target directory. Default: the one `cargo` itself uses for the workspace, so that
      a `cargo build` by hand and this one share their work.
    * `:load_from` - `{app, path}` of the library without its extension. Default:
      `{otp_app, "priv/native/<crate>"}`.
    * `:load_data` - the term given to the library when it loads. Default: `0`.
    * `:skip_compilation?` - `true` loads what is in `priv` already.
  """

  defmacro __using__(opts) do
    quote bind_quoted: [opts: opts] do
      otp_app = Keyword.fetch!(opts, :otp_app)
      settings = Application.compile_env(otp_app, __MODULE__, [])
      rustler_config = Rustler.Compiler.build(Rustler.Compiler.Config.new(__MODULE__, settings, opts))

      for resource <- rustler_config.external_resources do
        @external_resource resource
      end

      @rustler_load_from rustler_config.load_from
      @rustler_load_data rustler_config.load_data
      @rustler_watched rustler_config.watched

      @before_compile Rustler
    end
  end

  @doc false
  defmacro __before_compile__(_env) do
    quote do
      @on_load :rustler_init

      @doc false
      def rustler_init do
        # A version of this module that is no longer used would keep its library mapped.
        :code.purge(__MODULE__)

        {app, path} = @rustler_load_from
        library = app |> Application.app_dir(path) |> String.to_charlist()
        :erlang.load_nif(library, @rustler_load_data)
      end

      # Mix asks this before it decides what to compile: a source file that came or went since is on no list of
      # external resources. Called by a name of its own, because nothing of this package exists at run time.
      @doc false
      def __mix_recompile__? do
        compiler = Module.concat("Rustler", "Compiler")
        compiler.changed?(@rustler_watched)
      end
    end
  end
end
