"""Where a module is tested whose test file has another name: the file, and the reason."""

from __future__ import annotations

TESTED_IN: dict[str, tuple[str, str]] = {
    "__main__.py": ("cli/test_main.py", "The tests start `python -m looseleaf`."),
    "access/accounts.py": (
        "access/test_authentication.py",
        "The tests sign in with every kind of account.",
    ),
    "access/audit.py": (
        "stores/database/test_audit_chain.py",
        "The database keeps these events in its chain.",
    ),
    "agents/budget.py": (
        "prompt/test_budget.py",
        "A budget is tested by the prompts that it limits.",
    ),
    "errors/__init__.py": ("test_errors.py", "Every error is looked at there."),
    "errors/access.py": ("test_errors.py", "Every error is looked at there."),
    "errors/agents.py": ("test_errors.py", "Every error is looked at there."),
    "errors/bundles.py": ("test_errors.py", "Every error is looked at there."),
    "errors/chat.py": ("test_errors.py", "Every error is looked at there."),
    "errors/models.py": ("test_errors.py", "Every error is looked at there."),
    "errors/operations.py": ("test_errors.py", "Every error is looked at there."),
    "errors/pages.py": ("test_errors.py", "Every error is looked at there."),
    "errors/upkeep.py": ("test_errors.py", "Every error is looked at there."),
    "errors/workflows.py": ("test_errors.py", "Every error is looked at there."),
    "memory/search/visible_pages.py": ("operations/test_operations.py", "Searches of the past."),
    "stores/disk/deleted_pages.py": (
        "operations/test_doctor.py",
        "The doctor verifies the pages of deleted agents there.",
    ),
    "stores/database/copies/database_dump.py": (
        "stores/database/copies/test_table_dump.py",
        "Every test there dumps a database.",
    ),
    "stores/database/copies/restored_database.py": (
        "catalog/bundles/test_workspace_restore.py",
        "Databases are restored there, and restores are killed.",
    ),
    "stores/database/schema_revision.py": (
        "stores/database/test_database.py",
        "Databases of all revisions are migrated there.",
    ),
    "stores/database/copies/table_load.py": (
        "stores/database/copies/test_table_dump.py",
        "What is dumped there is loaded again.",
    ),
    "stores/disk/settings_file.py": (
        "catalog/bundles/test_workspace_restore.py",
        "A restore lets the settings name its database.",
    ),
    "stores/restore_target.py": (
        "catalog/bundles/test_workspace_restore.py",
        "Every kind of backup is restored to every kind of database there.",
    ),
    "bundles/git/commit_message.py": (
        "operations/test_page_commits.py",
        "Messages are read back from the commits there.",
    ),
    "bundles/git/repository.py": (
        "operations/test_page_commits.py",
        "Real repositories are committed to there.",
    ),
    "bundles/backup/archive.py": (
        "bundles/backup/test_creation.py",
        "An archive is written there, and checked by other programs.",
    ),
    "bundles/backup/folder_lock.py": (
        "bundles/backup/test_creation.py",
        "Two backups at once are tried there.",
    ),
    "bundles/importers/contract.py": (
        "bundles/importers/systems/test_datamachine.py",
        "The values of the contract; every importer gives them.",
    ),
    "bundles/importers/datamachine/fields.py": (
        "bundles/importers/datamachine/test_pipelines.py",
        "The fields are those of a pipeline; a property test gives it any JSON.",
    ),
    "bundles/importers/datamachine/site_connection.py": (
        "bundles/importers/systems/test_datamachine_site.py",
        "Each question is asked of a server on loopback.",
    ),
    "bundles/importers/datamachine/site_pipelines.py": (
        "bundles/importers/workflows/test_workflow_import.py",
        "The pipelines are those of a server on loopback.",
    ),
    "bundles/importers/folder_export.py": (
        "operations/test_page_export.py",
        "Pages are written to folders there.",
    ),
    "bundles/importers/journal_pages.py": (
        "bundles/importers/systems/test_nanobot.py",
        "Logs become days of the journal there.",
    ),
    "bundles/importers/known_systems.py": (
        "operations/test_imports.py",
        "Sources are detected and chosen by operations.",
    ),
    "bundles/importers/ledger.py": (
        "operations/test_imports.py",
        "A second import asks the ledger.",
    ),
    "bundles/importers/left_out.py": (
        "bundles/importers/test_source_folder.py",
        "Files that cannot be read are named there.",
    ),
    "bundles/importers/report.py": (
        "operations/test_imports.py",
        "Every import there is seen through its report.",
    ),
    "bundles/importers/selection.py": (
        "operations/test_imports.py",
        "One agent or one user of a source is chosen there.",
    ),
    "bundles/importers/source_tree.py": (
        "bundles/importers/test_source_folder.py",
        "A source folder reads it.",
    ),
    "bundles/importers/workspace_files.py": (
        "bundles/importers/systems/test_openclaw.py",
        "The files of a workspace become pages there.",
    ),
    "bundles/export.py": ("operations/test_bundles.py", "The operations export by each profile."),
    "bundles/inspection.py": (
        "operations/test_bundle_installs.py",
        "A bundle that could not run here is refused with the reason that an inspection gives.",
    ),
    "bundles/prompt_overrides.py": (
        "operations/test_bundle_prompts.py",
        "Prompts travel and are replaced there through this contract.",
    ),
    "catalog/bundles/task_prompts.py": (
        "operations/test_bundle_prompts.py",
        "Prompts travel and are replaced there.",
    ),
    "bundles/layout/upload_files.py": (
        "bundles/test_uploads.py",
        "Uploads are written and read there, sound ones and others.",
    ),
    "bundles/layout/prompt_files.py": (
        "operations/test_bundle_prompts.py",
        "Prompts are exported and read there, sound ones and others.",
    ),
    "bundles/profiles.py": ("operations/test_bundles.py", "The operations export by each profile."),
    "bundles/layout/bundle.py": (
        "operations/test_bundle_installs.py",
        "Malformed bundles are refused there, and sound ones come back byte by byte.",
    ),
    "bundles/layout/manifest.py": (
        "operations/test_bundle_installs.py",
        "Malformed manifests are refused there.",
    ),
    "bundles/layout/workflow_files.py": (
        "operations/test_bundle_installs.py",
        "Malformed pipelines and flows are refused there.",
    ),
    "bundles/layout/workflow_definitions.py": (
        "operations/test_bundle_installs.py",
        "Pipelines and flows of bundles are stored there.",
    ),
    "bundles/comparison/artifacts.py": (
        "operations/test_bundle_installs.py",
        "Plans name artifacts of each kind there.",
    ),
    "bundles/installation/destination.py": (
        "operations/test_bundle_installs.py",
        "Every install has one.",
    ),
    "bundles/installation/install.py": (
        "operations/test_bundle_installs.py",
        "Installs and upgrades are run there as people run them.",
    ),
    "bundles/installation/upgrade.py": (
        "operations/test_bundle_installs.py",
        "Installs and upgrades are run there as people run them.",
    ),
    "bundles/installation/pending.py": (
        "operations/test_pending_upgrades.py",
        "Parts that wait are kept, shown, decided about and replaced there.",
    ),
    "bundles/installation/approvals.py": (
        "operations/test_pending_upgrades.py",
        "Parts that wait are approved and rejected there.",
    ),
    "bundles/comparison/drift.py": (
        "operations/test_bundle_comparisons.py",
        "Each word for drift is brought about there.",
    ),
    "bundles/comparison/rebase.py": (
        "operations/test_bundle_comparisons.py",
        "Pages and JSON are merged there.",
    ),
    "bundles/layout/bundle_document.py": (
        "operations/test_bundle_comparisons.py",
        "Sound and malformed documents are read there.",
    ),
    "bundles/installation/installed_title.py": (
        "operations/test_bundle_installs.py",
        "An agent that came from a bundle is exported again there.",
    ),
    "bundles/installation/ledger.py": (
        "operations/test_bundle_installs.py",
        "Upgrades read what installs have left.",
    ),
    "bundles/installation/ledger_entries.py": (
        "operations/test_bundle_installs.py",
        "Upgrades read what installs have left.",
    ),
    "bundles/installation/new_agent.py": (
        "operations/test_bundle_installs.py",
        "Round trips write every part of a new agent.",
    ),
    "bundles/comparison/plan.py": (
        "operations/test_bundle_installs.py",
        "Each reason of a plan is brought about there.",
    ),
    "catalog/bundles/bundle_destination.py": (
        "operations/test_bundle_installs.py",
        "Every install has a destination.",
    ),
    "operations/installed_bundles.py": (
        "operations/test_bundle_installs.py",
        "Installed bundles are listed and shown there.",
    ),
    "upkeep/record_files.py": (
        "files/test_record_folder.py",
        "It only names the folder of upkeep.",
    ),
    "catalog/audit_event.py": (
        "catalog/test_dispatch.py",
        "A call through dispatch writes the event.",
    ),
    "catalog/context.py": (
        "operations/test_operations.py",
        "Every operation is run with a context.",
    ),
    "catalog/declaration.py": (
        "catalog/test_registry.py",
        "Operations of plugins are declared in the same way.",
    ),
    "catalog/tools/memory_tools.py": (
        "catalog/tools/test_model_tools.py",
        "The memory tools are called as a model calls them.",
    ),
    "catalog/operation.py": (
        "catalog/test_registry.py",
        "An operation is registered, found and described there.",
    ),
    "catalog/parts.py": (
        "agents/test_agent_list.py",
        "A protocol: operations run there over other parts.",
    ),
    "catalog/remote_context.py": (
        "cli/test_server_options.py",
        "Every command runs there through a remote context.",
    ),
    "catalog/resolution.py": ("web/test_user_selection.py", "Requests say whose page is meant."),
    "catalog/schemas/arguments.py": (
        "catalog/test_dispatch.py",
        "Arguments are checked where they come in.",
    ),
    "catalog/session_access.py": (
        "catalog/test_page_access.py",
        "The list of operations includes those on sessions.",
    ),
    "catalog/schemas/signature.py": (
        "catalog/test_registry.py",
        "Signatures of plugins' functions, too.",
    ),
    "catalog/tools/agent_turns.py": ("operations/test_chat.py", "A turn of a conversation."),
    "catalog/tools/calls.py": (
        "catalog/tools/test_operation_tools.py",
        "Calls of tools with fixed and free arguments.",
    ),
    "catalog/tools/formats.py": (
        "catalog/tools/test_model_tools.py",
        "The tools in the formats of the providers.",
    ),
    "chat/events.py": ("chat/test_turn.py", "A turn gives every event."),
    "chat/journal.py": ("operations/test_chat.py", "Finishing a session writes the journal."),
    "chat/session.py": ("chat/test_sessions.py", "The contract of sessions, over the database."),
    "chat/summary.py": ("chat/test_turn.py", "A long conversation is summed up in a turn."),
    "chat/transcript.py": ("chat/test_turn.py", "The messages that the model is asked with."),
    "cli/__init__.py": ("cli/test_main.py", "The entry of the command line."),
    "cli/arguments.py": ("cli/commands/test_memory.py", "The arguments of the commands on pages."),
    "cli/commands/lint.py": ("operations/test_lint.py", "The command is typed there, too."),
    "cli/commands/system_prompts.py": (
        "cli/commands/test_system.py",
        "The prompts of tasks are typed there, too.",
    ),
    "cli/commands/audit.py": (
        "cli/test_server_options.py",
        "Both commands run, here and on a server.",
    ),
    "cli/commands/chat.py": (
        "cli/commands/test_sessions.py",
        "A conversation comes before its session.",
    ),
    "cli/commands/mcp.py": ("mcp_server/test_stdio.py", "The tests start `looseleaf mcp`."),
    "cli/commands/mcp_clients.py": (
        "mcp_server/clients/test_config_edits.py",
        "`mcp install` runs there.",
    ),
    "cli/commands/prompt_check.py": ("cli/commands/test_prompt.py", "`prompt check` runs there."),
    "cli/commands/serve.py": ("web/test_server.py", "The tests start `looseleaf serve`."),
    "cli/commands/settings.py": (
        "cli/test_accounts.py",
        "`settings` stands beside users and tokens.",
    ),
    "cli/commands/tokens.py": ("cli/test_accounts.py", "Users, grants and tokens in one story."),
    "cli/commands/users.py": ("cli/test_accounts.py", "Users, grants and tokens in one story."),
    "cli/escapes.py": ("cli/test_output.py", "The escapes of all output."),
    "cli/fast_mcp.py": ("mcp_server/test_stdio.py", "`looseleaf mcp` starts by this path."),
    "cli/fast_read.py": ("cli/test_main.py", "A plain read imports no framework."),
    "cli/formats.py": ("cli/test_output.py", "The formats of all output."),
    "cli/groups.py": ("cli/test_command_table.py", "The groups are built from the table."),
    "cli/hook_options.py": ("cli/commands/test_prompt.py", "The options of `prompt show --hook`."),
    "cli/json_text.py": ("cli/test_output.py", "The documents of all commands."),
    "cli/stdin.py": ("cli/commands/test_memory.py", "Pages are written from standard input."),
    "files/file_copies.py": (
        "stores/test_backup_source.py",
        "Files are copied there while others change them.",
    ),
    "files/output_file.py": (
        "bundles/backup/test_creation.py",
        "The end of an archive is taken back there.",
    ),
    "http_client/connection.py": (
        "http_client/test_client.py",
        "Requests to servers that stall, trickle and never end.",
    ),
    "http_client/message.py": ("http_client/test_client.py", "Every request is one."),
    "mcp_server/change_notices.py": (
        "mcp_server/test_stdio.py",
        "A subscriber is told of changes.",
    ),
    "mcp_server/clients/hooks.py": (
        "mcp_server/clients/test_config_edits.py",
        "Hooks are installed with the server.",
    ),
    "mcp_server/clients/policy.py": (
        "mcp_server/clients/test_config_edits.py",
        "The policy of Gemini CLI is installed.",
    ),
    "mcp_server/clients/toml.py": (
        "mcp_server/clients/test_config_edits.py",
        "The file of Codex is edited.",
    ),
    "mcp_server/connection.py": ("mcp_server/test_stdio.py", "Lines in and lines out."),
    "mcp_server/features.py": (
        "mcp_server/test_sdk_server.py",
        "The features are asked for with the SDK.",
    ),
    "mcp_server/json_lines.py": ("mcp_server/test_stdio.py", "Lines that are too long or no JSON."),
    "mcp_server/page_changes.py": ("mcp_server/test_stdio.py", "Subscribed pages change."),
    "mcp_server/page_uris.py": (
        "mcp_server/test_sdk_server.py",
        "Pages are read by their addresses.",
    ),
    "mcp_server/prompts.py": ("mcp_server/test_stdio.py", "The prompt is listed and given."),
    "mcp_server/resources.py": ("mcp_server/test_sdk_server.py", "Pages are listed and read."),
    "mcp_server/subscriptions.py": ("mcp_server/test_http.py", "Subscriptions over HTTP."),
    "mcp_server/tool_results.py": ("mcp_server/test_every_tool.py", "The result of every tool."),
    "mcp_server/workers.py": ("mcp_server/test_stdio.py", "Requests run side by side."),
    "memory/history.py": (
        "stores/disk/history/test_page_history.py",
        "The contract, over the disk.",
    ),
    "memory/named_registry.py": ("catalog/test_registry.py", "One of the registries by name."),
    "memory/page_text.py": ("memory/test_pages.py", "Pages are appended to and decoded."),
    "memory/search/bounds.py": (
        "memory/search/test_matches.py",
        "A search gives no more than the bounds.",
    ),
    "memory/search/folding.py": ("memory/search/test_substring.py", "Case does not count."),
    "memory/search/passages.py": ("memory/search/test_ranking.py", "The snippets of ranked pages."),
    "memory/search/ranked.py": (
        "memory/search/test_ranking.py",
        "Ranked pages are asked for by it.",
    ),
    "memory/search/results.py": ("memory/search/test_substring.py", "Values without code."),
    "memory/search/stop_words.py": (
        "memory/search/test_words.py",
        "Words that every question has.",
    ),
    "memory/store.py": ("stores/disk/test_store.py", "The contract, over the disk."),
    "models/by_name.py": ("models/test_models.py", "Models are found by provider and name."),
    "models/echo.py": ("operations/test_chat.py", "The echo model answers there."),
    "models/model.py": ("models/test_models.py", "The contract, over a scripted model."),
    "models/openai/completions.py": (
        "models/openai/test_model.py",
        "Requests and answers of the protocol.",
    ),
    "models/pydantic_ai/event_loop.py": ("models/test_models.py", "The loop in its thread."),
    "models/pydantic_ai/messages.py": (
        "models/pydantic_ai/test_model.py",
        "Messages of every kind, both ways.",
    ),
    "models/pydantic_ai/providers.py": (
        "models/pydantic_ai/test_model.py",
        "Each provider is built and asked.",
    ),
    "models/retries.py": ("models/test_models.py", "Busy and failing providers."),
    "web/admin/views/operation/upload_data.py": (
        "web/admin/views/operation/test_imports.py",
        "Uploads are previewed and sent again there; too large ones are refused.",
    ),
    "catalog/encoded_data.py": (
        "operations/test_import_uploads.py",
        "Uploads that are no base64 are refused there.",
    ),
    "catalog/bundles/import_sources.py": (
        "operations/test_imports.py",
        "Folders and sites are opened or refused there.",
    ),
    "catalog/bundles/workflow_imports.py": (
        "bundles/importers/workflows/test_workflow_import.py",
        "Pipelines of a site are imported there by the operation.",
    ),
    "catalog/bundles/import_targets.py": (
        "operations/test_imports.py",
        "The pages of an import go to agents and users there.",
    ),
    "operations/agents.py": (
        "operations/test_operations.py",
        "Agents are created, renamed and deleted.",
    ),
    "operations/audit.py": ("operations/test_accounts.py", "The entries of accounts' changes."),
    "operations/task_prompts.py": ("cli/commands/test_system.py", "Prompts are typed there."),
    "operations/composed.py": ("upkeep/test_generated_pages.py", "Pages are composed there, too."),
    "operations/daily.py": ("operations/test_operations.py", "The journal by operations."),
    "operations/files.py": ("operations/test_operations.py", "The listing of pages."),
    "operations/history.py": ("operations/test_operations.py", "Revisions, diffs and restoring."),
    "operations/memory.py": ("operations/test_operations.py", "Reading and writing pages."),
    "operations/prompt.py": (
        "cli/commands/test_prompt.py",
        "Every operation on prompts has a command.",
    ),
    "catalog/prompt_assembly.py": (
        "cli/commands/test_prompt.py",
        "The prompt that the commands show.",
    ),
    "operations/session_ends.py": ("operations/test_chat.py", "The end follows the conversation."),
    "operations/sessions.py": ("operations/test_chat.py", "The sessions of conversations."),
    "operations/settings.py": ("operations/test_accounts.py", "Settings made while running."),
    "operations/status.py": ("cli/commands/test_status.py", "The command prints its result."),
    "operations/tokens.py": ("operations/test_accounts.py", "Tokens and application passwords."),
    "operations/transcripts.py": ("web/rest/test_chat.py", "A session is read as it is answered."),
    "operations/users.py": ("operations/test_accounts.py", "Users and grants."),
    "setting_tables.py": ("test_settings.py", "The tables of a settings file."),
    "access/user_principals.py": (
        "job_runtime/test_step_parts.py",
        "Jobs of every kind of user, and the tools of their models.",
    ),
    "job_runtime/job_rights.py": (
        "job_runtime/test_step_parts.py",
        "A right that is taken away ends a job and a turn of it.",
    ),
    "first_pages.py": (
        "test_workspace.py",
        "A new workspace gets its first pages.",
    ),
    "job_runtime/pipeline_turn.py": (
        "workflows/steps/test_ai.py",
        "Turns of the step `ai`, also resumed ones.",
    ),
    "stores/workflow_resources.py": (
        "workflows/steps/test_publish.py",
        "Steps that publish use all of them.",
    ),
    "workflows/artifacts/artifact.py": (
        "workflows/artifacts/test_job_artifacts.py",
        "Artifacts of pages and files.",
    ),
    "workflows/steps/packet_texts.py": (
        "workflows/steps/test_memory_update.py",
        "The texts of templates.",
    ),
    "workflows/steps/wordpress.py": (
        "workflows/steps/test_publish.py",
        "Posts on a site on loopback.",
    ),
    "stores/database/migrations/versions/0007_processed_items.py": (
        "stores/database/test_database.py",
        "Every migration, on both databases.",
    ),
    "plain_toml.py": ("test_settings.py", "Compared with a TOML parser over generated files."),
    "plugins/admin_pages.py": (
        "plugins/test_hookspecs.py",
        "With the hook that fills the registry.",
    ),
    "job_runtime/commit_task.py": (
        "job_runtime/test_backup_task.py",
        "The commits of every hour are tested beside the backups of every night.",
    ),
    "plugins/core_files.py": ("memory/test_registry.py", "The core pages and their rules."),
    "plugins/core_operations.py": ("operations/test_matrix.py", "Every operation of the catalog."),
    "bundles/backup/plugin.py": ("plugins/test_features.py", "Every feature is registered there."),
    "bundles/importers/plugin.py": (
        "plugins/test_features.py",
        "Every feature is registered there.",
    ),
    "bundles/plugin.py": ("plugins/test_features.py", "Every feature is registered there."),
    "chat/plugin.py": ("plugins/test_features.py", "Every feature is registered there."),
    "upkeep/plugin.py": ("plugins/test_features.py", "Every feature is registered there."),
    "workflows/plugin.py": ("plugins/test_features.py", "Every feature is registered there."),
    "plugins/defaults.py": ("plugins/test_loader.py", "Our own plugin among others."),
    "plugins/listing.py": ("cli/commands/test_plugins.py", "`plugins list` prints it."),
    "plugins/registries.py": ("plugins/test_hookspecs.py", "Each hook fills its registry."),
    "prompt/assembly.py": ("prompt/test_budget.py", "The pieces of a prompt and their sizes."),
    "prompt/build.py": ("prompt/test_chain.py", "The chain is built with it."),
    "prompt/directives/directive.py": (
        "prompt/test_chain.py",
        "Directives are registered and ordered.",
    ),
    "prompt/directives/outputs.py": ("prompt/test_blocks.py", "Outputs become blocks."),
    "prompt/directives/page_sources.py": (
        "prompt/directives/test_view.py",
        "The sources of pages in a view.",
    ),
    "prompt/documents.py": ("prompt/test_formats.py", "Types that the formats are of."),
    "prompt/excerpt.py": ("prompt/test_host_limit.py", "Pages are cut for a host."),
    "prompt/explain.py": ("cli/commands/test_prompt.py", "`prompt explain` prints it."),
    "prompt/reports.py": ("catalog/schemas/test_json_schema.py", "Values without code."),
    "prompt/request.py": ("prompt/test_policy.py", "Requests with their own rules."),
    "remote/address.py": ("cli/test_server_options.py", "Addresses of servers, right and wrong."),
    "remote/connection.py": ("cli/test_server_options.py", "Every command against a server."),
    "remote/context.py": ("cli/test_server_options.py", "Every command runs there through it."),
    "remote/error_answers.py": (
        "cli/test_server_options.py",
        "Errors of a server at the command line.",
    ),
    "stores/database/audit.py": (
        "stores/database/test_audit_chain.py",
        "The entries and their chain.",
    ),
    "stores/database/audit_anchor.py": (
        "stores/database/test_row_digests.py",
        "A chain that was cut short is found.",
    ),
    "stores/database/chat/messages.py": ("chat/test_sessions.py", "Messages as they are stored."),
    "stores/database/chat/sessions.py": ("chat/test_sessions.py", "Sessions as they are stored."),
    "stores/database/chat/turns.py": ("chat/test_turn.py", "The steps of a turn are stored."),
    "stores/database/migrations/env.py": (
        "stores/database/test_database.py",
        "Alembic runs it with each migration.",
    ),
    "stores/database/migrations/versions/0001_accounts.py": (
        "stores/database/test_database.py",
        "Every migration runs, and is compared with the tables.",
    ),
    "stores/database/migrations/versions/0002_chat.py": (
        "stores/database/test_database.py",
        "Every migration runs, and is compared with the tables.",
    ),
    "stores/database/migrations/versions/0003_digests.py": (
        "stores/database/test_database.py",
        "Every migration runs, and is compared with the tables.",
    ),
    "stores/database/migrations/versions/0004_provenance.py": (
        "stores/database/test_database.py",
        "Every migration runs, and is compared with the tables.",
    ),
    "stores/database/open_database.py": (
        "stores/database/test_settings_and_audit.py",
        "The light part and the whole.",
    ),
    "stores/database/sqlite_file.py": (
        "stores/database/test_database.py",
        "The file of SQLite is opened.",
    ),
    "stores/database/tables.py": (
        "stores/database/test_database.py",
        "The tables are compared with the migrations.",
    ),
    "stores/disk/copies/agent_places.py": (
        "stores/test_backup_source.py",
        "Agents move there while a backup is made.",
    ),
    "stores/disk/copies/folder_copies.py": (
        "stores/test_backup_source.py",
        "Folders with links and pipes are copied there.",
    ),
    "stores/disk/copies/shelf_copies.py": (
        "stores/test_backup_source.py",
        "Pages are copied there with their history, beside writers.",
    ),
    "stores/disk/agents/agents_folder.py": (
        "stores/disk/agents/test_disk_agents.py",
        "State of the list.",
    ),
    "stores/disk/agents/changes.py": (
        "agents/test_crash.py",
        "Each change is killed in the middle.",
    ),
    "stores/disk/agents/locked_folder.py": (
        "agents/test_crash.py",
        "Left-overs are cleared there.",
    ),
    "stores/disk/agents/record_files.py": (
        "stores/disk/agents/test_disk_agents.py",
        "Read by the list.",
    ),
    "stores/disk/agents/register.py": (
        "stores/disk/agents/test_disk_agents.py",
        "Ids given by the list.",
    ),
    "stores/disk/create.py": ("test_workspace.py", "Every workspace is created so."),
    "stores/disk/discard.py": ("agents/test_crash.py", "An unfinished agent is taken away."),
    "stores/disk/history/notes.py": (
        "stores/disk/history/test_page_history.py",
        "Notes on revisions.",
    ),
    "stores/disk/history/pruning.py": (
        "stores/disk/history/test_page_history.py",
        "Versions are purged and pruned there; those in packs in test_packing.py.",
    ),
    "stores/disk/history/revisions.py": (
        "stores/disk/history/test_page_history.py",
        "Revisions are kept and given back.",
    ),
    "stores/disk/history_names.py": (
        "stores/disk/history/test_page_history.py",
        "The names of the history's folders.",
    ),
    "stores/disk/locked_page.py": ("stores/disk/test_store.py", "Every write locks its page."),
    "stores/disk/open_disk.py": ("test_workspace.py", "Every workspace is opened so."),
    "stores/disk/page_changes.py": ("stores/disk/test_store.py", "Every write goes through it."),
    "stores/disk/splice.py": ("stores/disk/history/test_page_history.py", "The redo of a line."),
    "stores/disk/store_folder.py": (
        "stores/disk/test_store.py",
        "A protocol that the disk store keeps.",
    ),
    "stores/engine/object_mapper.py": (
        "web/test_server.py",
        "Servers are asked while their worker starts.",
    ),
    "stores/index/file_states.py": (
        "stores/index/test_search_index.py",
        "Changed files are found.",
    ),
    "stores/index/file_watch.py": ("stores/index/test_search_index.py", "Watched files change."),
    "stores/index/index_file.py": (
        "stores/index/test_search_index.py",
        "The file is built, damaged and rebuilt.",
    ),
    "stores/index/indexed_words.py": (
        "stores/index/test_search_index.py",
        "Ranked searches with an index.",
    ),
    "stores/index/past_versions.py": (
        "stores/index/test_past_search.py",
        "Searches of the past follow the history.",
    ),
    "stores/index/past_words.py": (
        "stores/index/test_past_search.py",
        "Ranked searches of the past.",
    ),
    "stores/index/index_checksum.py": (
        "stores/index/test_verification.py",
        "A flipped bit is found by it.",
    ),
    "stores/index/shelf_index.py": ("stores/index/test_search_index.py", "The index of one shelf."),
    "upkeep/retention/versions.py": (
        "upkeep/retention/test_removal.py",
        "One of the kinds of data there.",
    ),
    "workflows/artifacts/job_data.py": (
        "upkeep/retention/test_removal.py",
        "Contracts that every removal of data uses.",
    ),
    "upkeep/system_tasks/activity.py": (
        "upkeep/daily_task/test_task.py",
        "The prompt of the task lists the activity.",
    ),
    "upkeep/daily_task/archive.py": (
        "upkeep/daily_task/test_plan.py",
        "Every plan collects its archive.",
    ),
    "upkeep/daily_task/conversation.py": (
        "upkeep/daily_task/test_task.py",
        "The task talks to scripted models.",
    ),
    "upkeep/daily_task/outcome.py": (
        "upkeep/daily_task/test_task.py",
        "Every run of the task ends with one.",
    ),
    "upkeep/daily_task/pointer.py": (
        "upkeep/daily_task/test_overflow.py",
        "Overflow writes and merges the pointer.",
    ),
    "upkeep/daily_task/prompt_text.py": (
        "upkeep/daily_task/test_task.py",
        "The task fills the prompt.",
    ),
    "upkeep/finding.py": ("operations/test_doctor.py", "A value that the doctor gives."),
    "upkeep/folder_condition.py": ("operations/test_doctor.py", "The doctor runs every check."),
    "upkeep/generated_text.py": ("upkeep/test_generated_pages.py", "The text of the pages there."),
    "upkeep/page_problems.py": ("upkeep/test_core_pages.py", "The check of core pages finds them."),
    "upkeep/lint/edits.py": ("operations/test_lint.py", "Every fix applies edits."),
    "upkeep/lint/facts.py": ("upkeep/lint/test_linter.py", "Each rule has its cases there."),
    "upkeep/lint/model_tokens.py": ("upkeep/lint/test_linter.py", "Each rule has its cases there."),
    "upkeep/lint/page.py": ("upkeep/lint/test_linter.py", "Every rule reads such pages."),
    "upkeep/lint/problem.py": ("upkeep/lint/test_linter.py", "What every rule gives."),
    "upkeep/lint/references.py": ("upkeep/lint/test_linter.py", "Each rule has its cases there."),
    "upkeep/lint/repetition.py": ("upkeep/lint/test_linter.py", "Each rule has its cases there."),
    "upkeep/lint/sizes.py": ("upkeep/lint/test_linter.py", "Each rule has its cases there."),
    "upkeep/project_copy.py": ("operations/test_operations.py", "Composing writes the copies."),
    "version.py": ("cli/test_main.py", "`--version` prints it."),
    "web/admin/content_policy.py": ("web/admin/test_site.py", "One text, which every page bears."),
    "web/admin/forms.py": ("web/admin/views/memory/test_editor.py", "The forms of the editor."),
    "web/admin/frame.py": ("web/admin/test_site.py", "Every page is shown in it."),
    "web/admin/views/memory/gauge.py": (
        "web/admin/views/memory/test_editor.py",
        "It follows what is typed.",
    ),
    "web/admin/views/memory/preview.py": (
        "web/admin/views/memory/test_editor.py",
        "It follows what is typed.",
    ),
    "web/admin/registration.py": ("web/admin/test_site.py", "Every address is asked for."),
    "web/admin/rights.py": ("web/admin/test_site.py", "The pages on people and access say it."),
    "web/admin/views/memory/page_header.py": (
        "web/admin/views/memory/test_editor.py",
        "Every view of a page has it.",
    ),
    "web/admin/views/shortcuts.py": (
        "web/admin/views/memory/test_pages.py",
        "Where they are pressed.",
    ),
    "web/api_page.py": ("web/rest/test_openapi.py", "The document that the page shows."),
    "web/app.py": ("web/test_server.py", "The application is served."),
    "web/http/bodies.py": ("web/test_limits.py", "Bodies that are too long, slow or wrong."),
    "web/http/buffered_body.py": (
        "web/test_limits.py",
        "Bodies of `/mcp` that are too long or slow.",
    ),
    "web/http/connection.py": ("web/test_limits.py", "Heads that are too long or slow."),
    "web/http/recent_requests.py": (
        "web/admin/test_site.py",
        "The page of the last requests is asked for.",
    ),
    "web/http/request_errors.py": (
        "web/rest/test_abilities.py",
        "Wrong requests and their answers.",
    ),
    "web/http/request_log.py": ("web/test_server.py", "The lines of the log."),
    "web/server_log.py": ("web/test_server.py", "The lines of the log, and none without it."),
    "workflows/execution/job_event.py": (
        "workflows/execution/test_worker.py",
        "The events that the log of a worker gets.",
    ),
    "web/http/responses.py": ("web/rest/test_pages.py", "The answers of REST."),
    "web/http/sign_in_attempts.py": (
        "web/http/test_authentication.py",
        "Too many wrong passwords.",
    ),
    "web/http/workers.py": ("web/test_flood.py", "Heavy requests leave threads for others."),
    "web/login.py": ("web/http/test_authentication.py", "Beside the credentials it makes."),
    "web/metrics.py": ("web/http/test_authentication.py", "`/metrics` is asked for by users."),
    "web/rest/arguments.py": ("web/rest/test_abilities.py", "Arguments from queries and bodies."),
    "web/rest/calls.py": ("web/rest/test_abilities.py", "Every call of an operation."),
    "web/rest/endpoints.py": ("web/rest/test_openapi.py", "Every endpoint is described and asked."),
    "web/rest/openapi_paths.py": ("web/rest/test_openapi.py", "The paths of the document."),
    "web/rest/paging.py": ("web/rest/test_abilities.py", "`page` and `per_page` of a list."),
    "web/rest/plugin_answers.py": ("web/test_recorded.py", "Answers as the original gives them."),
    "web/rest/plugin_errors.py": ("web/test_recorded.py", "Errors as the original gives them."),
    "web/rest/representation.py": ("web/rest/test_pages.py", "Pages as JSON and as they are."),
    "web/rest/statuses.py": ("web/rest/test_openapi.py", "The status of every error."),
    "workflows/step_parts.py": (
        "workflows/test_effects.py",
        "Values and protocols; steps use them.",
    ),
    "workflows/step_run.py": ("workflows/test_effects.py", "A run changes a page once."),
    "workflows/engine.py": ("stores/engine/test_dbos_engine.py", "A contract, and who keeps it."),
    "workflows/execution/job_run.py": (
        "workflows/execution/test_worker.py",
        "A worker runs jobs of every kind.",
    ),
    "workflows/execution/queue.py": (
        "stores/database/jobs/test_job_queue.py",
        "A contract, and who keeps it.",
    ),
    "workflows/execution/running_jobs.py": (
        "workflows/execution/test_worker.py",
        "The jobs that a worker runs.",
    ),
    "workflows/schedules/schedule.py": (
        "stores/database/jobs/test_schedules.py",
        "States in the database.",
    ),
    "stores/database/jobs/job_rows.py": (
        "stores/database/jobs/test_jobs.py",
        "Jobs as they were added.",
    ),
    "stores/database/jobs/job_store.py": (
        "stores/database/jobs/test_jobs.py",
        "All tests there use it.",
    ),
    "cli/commands/schedules.py": ("cli/commands/test_jobs.py", "Beside the jobs they start."),
    "cli/commands/work.py": ("cli/commands/test_jobs.py", "A worker that runs a job."),
    "cli/commands/workflow_entries.py": (
        "cli/commands/test_jobs.py",
        "The commands are found by it.",
    ),
    "job_runtime/runtime.py": (
        "cli/commands/test_jobs.py",
        "Commands run jobs by a worker of their own.",
    ),
    "catalog/workflows/job_documents.py": ("operations/test_jobs.py", "Jobs as they are shown."),
    "stores/index/open_index.py": (
        "stores/index/test_search_index.py",
        "Every search opens the index so.",
    ),
    "workflows/schedules/job_access.py": (
        "operations/test_schedules.py",
        "A contract, and who keeps it.",
    ),
    "upkeep/scheduled_jobs.py": (
        "operations/test_schedules.py",
        "Schedules of flows and plugins start jobs.",
    ),
    "web/job_events.py": ("web/rest/test_jobs.py", "The events of a job."),
    "web/worker_start.py": ("web/rest/test_jobs.py", "A server runs jobs."),
    "cli/commands/job_view.py": ("cli/commands/test_jobs.py", "The progress of a job."),
    "stores/database/migrations/versions/0006_jobs.py": (
        "stores/database/test_database.py",
        "Every migration is run and compared with the tables.",
    ),
    "stores/engine/engine_database.py": (
        "stores/engine/test_dbos_engine.py",
        "The file of the engine, and its mode.",
    ),
    "stores/database/migrations/versions/0005_workflows.py": (
        "stores/database/test_database.py",
        "Every migration runs there, on both databases.",
    ),
    "stores/database/workflows/definitions.py": (
        "stores/database/workflows/test_pipelines.py",
        "It holds the pipelines and flows of one database.",
    ),
    "stores/database/workflows/rows.py": (
        "stores/database/workflows/test_pipelines.py",
        "Pipelines and flows are read as they were added.",
    ),
    "workflows/definitions.py": (
        "stores/database/workflows/test_pipelines.py",
        "The contracts, over both databases.",
    ),
    "catalog/new_ids.py": (
        "agents/test_rights.py",
        "An id that a token or a grant names is never given to another agent.",
    ),
    "catalog/workflows/workflow_access.py": (
        "operations/test_pipelines.py",
        "Pipelines are found there by every kind of reference.",
    ),
    "cli/workflow_options.py": (
        "cli/commands/test_pipelines.py",
        "Commands with every option of pipelines and flows.",
    ),
    "cli/commands/workflow_files.py": (
        "cli/commands/test_pipelines.py",
        "Files of pipelines and flows are uploaded, listed and deleted.",
    ),
    "workflows/uploads/file_store.py": (
        "stores/disk/workflows/test_upload_folders.py",
        "The contract, over the disk.",
    ),
    "operations/workflow_memory.py": (
        "operations/test_pipelines.py",
        "Memory files of pipelines are added and removed; test_flows.py has those of flows.",
    ),
}
